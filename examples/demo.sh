#!/usr/bin/env bash
# The main job on the example package `setters`, in a temporary copy: with kpt where it is on PATH, else stdin to stdout through the program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
bin=$(cd ../.venv/bin 2>/dev/null && pwd) || bin=''
PATH=${bin:+$bin:}$PATH
command -v krm-merge >/dev/null || { echo "krm-merge is not installed; run: make demo" >&2; exit 1; }

color=never bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  color=always bold=$'\e[1m' plain=$'\e[0m'
fi
say() { printf '%s%s%s\n' "$bold" "$*" "$plain"; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/package"
cp setters/*.yaml "$work/package"
cp setters/local.Kptfile "$work/package/Kptfile"
cp setters/local.Kptfile "$work/Kptfile.before"

with_kpt() {
  kpt fn eval "$work/package" --exec krm-merge --fn-config "$work/package/merge.yaml" --truncate-output=false 2>"$work/log"
}

# A ResourceList is the items and the functionConfig; this one has the Kptfile only.
without_kpt() {
  {
    printf 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n'
    sed -e '1s/^/- /' -e '2,$s/^/  /' "$work/package/Kptfile"
    printf 'functionConfig:\n'
    sed 's/^/  /' "$work/package/merge.yaml"
  } >"$work/list"
  krm-merge <"$work/list" >"$work/merged" 2>"$work/log" || return
  sed -n '/^items:/,/^functionConfig:/{/^items:/d;/^functionConfig:/d;s/^..//;p}' "$work/merged" >"$work/package/Kptfile"
  sed -n '/^results:/,$p' "$work/merged" >"$work/log"
}

say "A platform team published a package. You set your own tag and memory, and added a function."
say "The team's new version raises versions, adds a setter and a function, and changes memory, too."
echo
if command -v kpt >/dev/null; then
  say "\$ kpt fn eval setters --exec krm-merge --fn-config merge.yaml"
  merge=with_kpt
else
  say "\$ krm-merge < resource-list.yaml        (kpt is not on PATH)"
  merge=without_kpt
fi
if ! "$merge"; then
  cat "$work/log" >&2
  exit 1
fi
(cd "$work" && git --no-pager diff --no-index --unified=1 --color="$color" Kptfile.before package/Kptfile) | sed '/^[^ @+-]*\(diff --git\|index \)/d' || true
echo
say "Reported: what both changed. Upstream's value is kept, unless you set onConflict: local."
if [ "$merge" = with_kpt ]; then
  sed -n 's/^    \[\(warning\|info\)\] .*: \(apply-setters\|Kptfile\)/  \1: \2/p' "$work/log"
else
  sed -n 's/^- message: "\{0,1\}\(.*[^"]\)"\{0,1\}$/  \1/p' "$work/log"
fi
