#!/usr/bin/env bash
# An update of the package in examples/update, in a temporary git repository: by kpt, where kpt is on PATH, then by krm-merge.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
for environment in ../.venv-demo ../.venv; do
  if [ -x "$environment/bin/krm-merge" ]; then PATH=$(cd "$environment/bin" && pwd):$PATH; break; fi
done
command -v krm-merge >/dev/null || { echo "krm-merge is not installed; run: make demo" >&2; exit 1; }

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' plain=$'\e[0m'; fi
say() { printf '%s%s%s\n' "$bold" "$*" "$plain"; }

# Nothing of yours is read or changed: settings of git, caches, repositories.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/temporary"
export HOME=$work TMPDIR=$work/temporary GIT_CONFIG_NOSYSTEM=1 KRM_MERGE_CACHE_DIR=$work/cache KPT_CACHE_DIR=$work/kpt
git config --global user.name You
git config --global user.email you@example.com
git config --global init.defaultBranch main

upstream=$work/packages
git init --quiet "$upstream"
mkdir "$upstream/blog"
cp update/local.Kptfile "$upstream/blog/Kptfile"
for version in v1 v2 v3; do
  cp "update/$version/deployment.yaml" "$upstream/blog"
  git -C "$upstream" add blog
  git -C "$upstream" commit --quiet --message "$version"
  git -C "$upstream" tag "$version"
done

# As `kpt pkg get` fetches it, with your changes.
git init --quiet "$work/yours"
mkdir "$work/yours/blog"
cp update/yours/deployment.yaml "$work/yours/blog"
{
  cat update/local.Kptfile
  for what in upstream upstreamLock; do
    printf '%s:\n  type: git\n  git:\n    repo: file://%s\n    directory: /blog\n    ref: v1\n' "$what" "$upstream"
    if [ "$what" = upstream ]; then echo '  updateStrategy: resource-merge'; fi
  done
  printf '    commit: %s\n' "$(git -C "$upstream" rev-parse v1)"
} >"$work/yours/blog/Kptfile"
cd "$work/yours"
git add blog
git commit --quiet --message 'your fork of blog v1'

shown() { git --no-pager diff --unified=0 blog/deployment.yaml | grep '^[-+] '; }

say "You run a fork of the package blog: with a cache, a disk that stays, and without the sidecar for metrics."
say "Upstream publishes v2: a newer image, and less in the log."
echo
if command -v kpt >/dev/null; then
  say '$ kpt pkg update blog@v2'
  kpt pkg update blog@v2 2>&1 | tail -n 1
  shown
  say "Your cache is gone, and the volume has a second source, which the cluster refuses. kpt said nothing of either."
  git restore blog
  echo
fi
say '$ krm-merge update blog@v2'
krm-merge update blog@v2 2>&1
shown
git commit --quiet --all --message 'blog v2'
echo
say "v3 has a newer image, and changes the sidecar that you removed: who wins? Until somebody says so, nothing changes."
say '$ krm-merge update blog@v3'
krm-merge update blog@v3 2>&1 || true
echo
say "It is to stay removed. The choice is kept in the package, so that nobody is asked again."
say '$ krm-merge resolve blog@v3 --terminal'
echo l | krm-merge resolve blog@v3 --terminal 2>&1
shown
