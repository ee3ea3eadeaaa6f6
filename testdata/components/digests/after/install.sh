#!/bin/sh
# Installs the app; IMAGE may name another.
IMAGE="${IMAGE:-quay.io/org/app@sha256:1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e}"
MIRRORED="${MIRROR}quay.io/org/app@sha256:5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"
podman run --rm 'quay.io/org/app@sha256:1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e' version && podman run --rm "$IMAGE" "$MIRRORED"
