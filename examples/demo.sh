#!/usr/bin/env bash
# Updates of the package in examples/update, in a temporary git repository: by kpt, where it is on PATH, by the command krm-merge, and by
# the function.
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

changes() { git --no-pager diff --unified=0 blog/deployment.yaml | grep '^[-+] '; }
has_kpt() { command -v kpt >/dev/null; }

say "Your fork of the package blog has a cache, a persistent volume, and no metrics sidecar."
say "Upstream publishes v2: a newer image, and less logging."
echo
if has_kpt; then
  say '$ kpt pkg update blog@v2'
  kpt pkg update blog@v2 2>&1 | tail -n 1
  changes
  say "Your cache is gone, and the volume has two sources, which the cluster refuses. kpt reported neither."
  git restore blog
  echo
fi
say '$ krm-merge update blog@v2'
krm-merge update blog@v2 2>&1
changes
git commit --quiet --all --message 'blog v2'
echo
say "v3 changes the sidecar that you removed. Nothing changes until you decide."
say '$ krm-merge update blog@v3'
krm-merge update blog@v3 2>&1 || true
echo
say "You want it to stay removed. The choice is recorded in the package, so nobody is asked again."
say '$ krm-merge resolve blog@v3 --terminal'
echo l | krm-merge resolve blog@v3 --terminal 2>&1
changes
echo
say "The update to v2 again, as a KRM function: a ResourceList comes in, the merged one goes out."
git stash --quiet --include-untracked
git checkout --quiet HEAD~1
say '$ krm-merge config blog --to v2 -o merge.yaml && krm-merge < resource-list.yaml'
krm-merge config blog --to v2 -o merge.yaml
# What `kpt fn source blog --fn-config merge.yaml` prints.
{
  printf 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n'
  for file in Kptfile deployment.yaml; do sed -e '/^#/d' -e 's/^/  /' "blog/$file" | sed -e '1s/^ /-/'; done
  echo 'functionConfig:'
  sed -e 's/^/  /' merge.yaml
} >resource-list.yaml
krm-merge <resource-list.yaml | diff resource-list.yaml - | grep '^[<>]' || true
if has_kpt; then
  echo
  say '$ kpt fn eval blog --exec krm-merge --fn-config merge.yaml'
  kpt fn eval blog --exec krm-merge --fn-config merge.yaml 2>&1
  changes
  git restore blog
  echo
  say "Declared in the package's pipeline, it runs when the package is rendered next:"
  say '$ krm-merge config blog --to v2 --declare --exec krm-merge && kpt fn render blog --allow-exec'
  krm-merge config blog --to v2 --declare --exec krm-merge --quiet
  kpt fn render blog --allow-exec 2>&1
  changes
fi
