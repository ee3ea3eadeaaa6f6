# The image of the krm-merge function. It builds with the legacy builder and with BuildKit.
#
# BASE        the image whose Python the function runs on: Debian-like, Python 3.11 or later as python3. It is named by its digest, so that
#             one commit always builds on the same bytes; Dependabot proposes newer ones. For another one: --build-arg BASE=...
# BUILD_BASE  the image of the build stage: the same Python at the same path as BASE, with its venv module. It differs from BASE only
#             where the build needs something that must not reach the final image, such as a private certificate authority.
ARG BASE=python:3.13.14-slim-bookworm@sha256:67a1e1f215ccda113cfc024e8639049257e88f273898f595b61476d128d387e8
ARG BUILD_BASE=${BASE}

FROM ${BUILD_BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
RUN python3 -m venv /opt/build && python3 -m venv --without-pip /opt/fn
COPY constraints.txt constraints-build.txt ./
RUN /opt/build/bin/pip install --only-binary=:all: --require-hashes -r constraints-build.txt \
 && /opt/build/bin/pip --python /opt/fn/bin/python install --only-binary=:all: --require-hashes --no-compile -r constraints.txt
COPY pyproject.toml README.md LICENSE metadata.yaml ./
COPY docs ./docs
COPY fn ./fn
# Bytecode is compiled here, since the function runs as a user who cannot write it. The image's files never change, so Python need not
# compare it with its source at every start.
RUN /opt/build/bin/pip wheel --no-build-isolation --no-deps --wheel-dir /opt/wheel . \
 && /opt/build/bin/pip --python /opt/fn/bin/python install --no-deps --no-index --no-compile /opt/wheel/*.whl \
 && /opt/fn/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/fn/lib

FROM ${BASE} AS runtime
# The official Python images come without bytecode of the standard library; without it every start compiles what it imports.
RUN python3 -m compileall -q -j 0 -x '/(test|tests|idlelib|lib2to3|turtledemo|tkinter|ensurepip|pydoc_data|site-packages|dist-packages)/' \
    "$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
# For executable plugins of images made FROM this one: only who builds an image can put something there.
RUN mkdir -m 0755 /plugins
# Slim and not distroless, since a distroless image has no shell, and plugins may be scripts (docs/transform.md). Measured on Debian bookworm
# with Python 3.11, it would leave out 37 of 108 MB: coreutils 18, bash 7, dpkg 6, and findutils, diffutils, grep and sed together 6.
# What installs packages, manages users and disks, and perl: neither Python nor a plugin needs it. dpkg's own records stay true, for scanners.
# Scripts of the packages go first, since most of them are perl or call what is removed beside them.
RUN rm -f /var/lib/dpkg/info/*.prerm /var/lib/dpkg/info/*.postrm \
 && dpkg --purge --force-all $(dpkg-query --show --showformat '${Package}\n' | grep -E -x \
    -e 'adduser|apt|bsdutils|debconf|debian-archive-keyring|e2fsprogs|gpgv|init-system-helpers|login(\.defs)?|logsave|mount|passwd' \
    -e 'perl-base|sqv|sysvinit-utils|tar|usr-is-merged|util-linux|util-linux-extra' \
    -e 'lib(apt-pkg|audit|blkid|cap-ng|ext2fs|gcrypt|gnutls|gpg-error|hogweed|idn2|mount|nettle|p11-kit|pam|seccomp|semanage|sepol)[^ ]*' \
    -e 'lib(smartcols|ss|systemd|tasn1|udev|unistring|xxhash)[-0-9][^ ]*' \
    -e 'python3[.0-9]*-(venv|pip-whl|setuptools-whl)') >/dev/null \
 && python3 -c 'import bz2, ctypes, decimal, hashlib, json, lzma, sqlite3, ssl, subprocess, uuid, zlib'

# A new start: what was removed is in no layer.
FROM scratch
COPY --from=runtime / /
COPY --from=build /opt/fn /opt/fn
ENV PATH=/opt/fn/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1 KRM_MERGE_PLUGIN_DIR=/plugins
ARG VERSION=0.0.0-dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="krm-merge" \
      org.opencontainers.image.description="KRM function that merges Kubernetes configuration from several sources" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/krm-merge/krm-merge" \
      org.opencontainers.image.documentation="https://github.com/krm-merge/krm-merge/blob/main/README.md" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
USER 65534:65534
WORKDIR /
ENTRYPOINT ["krm-merge"]
