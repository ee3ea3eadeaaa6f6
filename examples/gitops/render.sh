#!/usr/bin/env bash
# Prints the manifests of the kpt package in DIR: its pipeline runs, and what is for kpt alone is left out.
#   render.sh DIR
# Functions of krm-merge run as the program on PATH, so no container engine is needed. Needs kpt and krm-merge.
set -euo pipefail
package=${1:?usage: render.sh DIR}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$package" "$work/package"
find "$work/package" -name Kptfile -exec \
  sed -i.before -E 's#^([ -]*)image: ([^ ]*/)?krm-merge([:@ ].*)?$#\1exec: krm-merge#' {} +
find "$work/package" -name 'Kptfile.before' -delete
# What kpt says of the functions belongs to the log.
kpt fn render "$work/package" --allow-exec --truncate-output=false >&2
kpt fn source "$work/package" | python3 "$(dirname "${BASH_SOURCE[0]}")/manifests.py"
