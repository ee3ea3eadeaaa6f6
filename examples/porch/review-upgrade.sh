#!/usr/bin/env bash
# Reviews an upgrade that Porch drafted: merges the same revisions with krm-merge, and shows how the draft differs.
#   review-upgrade.sh NAMESPACE ORIGINAL UPSTREAM LOCAL DRAFT [--push]
# ORIGINAL and UPSTREAM are package revisions of the upstream package: the one that LOCAL was made from, and the one that the
# draft takes. LOCAL is the published revision of your package, DRAFT what `porchctl rpkg upgrade` made of it. Leaves review.html
# and review.md in the working directory; --push puts the merge in the place of the draft's content.
# Needs porchctl and krm-merge. The exit code is 1 if the draft and the merge differ and nothing was pushed.
set -euo pipefail
if [ $# -lt 5 ]; then
  echo "usage: review-upgrade.sh NAMESPACE ORIGINAL UPSTREAM LOCAL DRAFT [--push]" >&2
  exit 2
fi
namespace=$1
revisions=("$2" "$3" "$4" "$5")
push=${6:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sides=(original upstream local draft)
for side in 0 1 2 3; do
  porchctl rpkg pull --namespace "$namespace" "${revisions[$side]}" "$work/${sides[$side]}" >&2
  # Porch's own notes: each revision has others.
  mkdir -p "$work/notes"
  if [ -e "$work/${sides[$side]}/.KptRevisionMetadata" ]; then
    mv "$work/${sides[$side]}/.KptRevisionMetadata" "$work/notes/${sides[$side]}"
  fi
done
# As Porch does, upstream wins where both changed a value and the package's MergePolicy says nothing; the reports name each.
krm-merge merge "$work/original" "$work/upstream" "$work/local" -o "$work/merged" --on-conflict upstream \
  --report review.html --report review.md
# Which upstream the package follows is the draft's business.
awk '/^[a-zA-Z]/ { ours = /^(upstream|upstreamLock):/ } ours' "$work/draft/Kptfile" > "$work/upstream.yaml"
if [ -s "$work/upstream.yaml" ]; then
  krm-merge patch apply --quiet --type merge --in-place "$work/merged/Kptfile" "$work/upstream.yaml"
fi
if krm-merge diff --exit-code "$work/draft" "$work/merged"; then
  echo "the draft is what krm-merge would make" >&2
  exit 0
fi
if [ "$push" != --push ]; then
  echo "the draft differs from the merge as shown; --push puts the merge in its place" >&2
  exit 1
fi
if [ -e "$work/notes/draft" ]; then cp "$work/notes/draft" "$work/merged/.KptRevisionMetadata"; fi
porchctl rpkg push --namespace "$namespace" "${revisions[3]}" "$work/merged" >&2
