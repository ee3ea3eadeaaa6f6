"""The laws on packages as texts, and the merge beside git's: it is never worse (law H).

For many packages, with small examples of each kind of failure and a tally of the kinds at the end:
    make nightly PARTS=packages [COUNT=20000] [SEED=0] [ARGS="--texts --kind=PART --show=N --quiet"]
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from generated.texts import Triple, lines_triple, triple
from packages.merge.beside_git import Winner, failures, of_law
from packages.merge.smaller import describe, fails_alike, failures_or_error, smaller

SEED = st.integers(0, 2**48)
# A smaller seed is no smaller package: `smaller` sees to that.
ANY_SEED = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])


def random_case(seed: int, texts: bool = False) -> tuple[Triple, Winner]:
    rng = random.Random(seed)
    policy: Winner = rng.choice(["upstream", "local"])
    return (lines_triple(rng) if texts else triple(rng)), policy


def check(seed: int, texts: bool = False) -> None:
    """Fails with a small example of the first failure."""
    sides, policy = random_case(seed, texts)
    hard = [failure for failure in failures(sides, policy) if failure.is_hard()]
    if hard:
        about = of_law(hard[0].kind, sides)
        example = describe(smaller(about, fails_alike(about, policy, hard[0].kind)), policy)
        kinds = "\n".join(dict.fromkeys(f"{failure.kind}: {failure.file}" for failure in hard))
        pytest.fail(f"seed {seed}, {policy} wins conflicts\n{kinds}\n{example}")


@ANY_SEED
@pytest.mark.parametrize("part", range(4))
@given(SEED)
def test_packages_merge_by_the_laws_and_no_worse_than_git(part: int, seed: int) -> None:
    check(4 * seed + part)


@ANY_SEED
@given(SEED)
def test_plain_texts_merge_no_worse_than_git(seed: int) -> None:
    check(seed, texts=True)


def test_an_empty_block_counts_as_an_empty_text_in_quotes() -> None:
    """Where git reports a conflict in other lines, the one may be written as the other."""
    original, upstream, local = (
        f'{head}kind: A\nempty: ""\ntext: |-\n{line}'
        for head, line in (
            ("apiVersion: v1\n", "  x\n"),
            ("new: 1\napiVersion: v1\n", ""),
            ("apiVersion: v2\n", "  x\n"),
        )
    )
    assert failures(({"a.yaml": original}, {"a.yaml": upstream}, {"a.yaml": local}), "upstream") == []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=2000)
    parser.add_argument("--seed", type=int, default=0, help="the first of as many")
    parser.add_argument("--texts", action="store_true", help="plain texts instead of packages")
    parser.add_argument("--kind", default="", help="only kinds of failure with this in their name")
    parser.add_argument("--show", type=int, default=1, help="how many small examples of each kind")
    parser.add_argument("--quiet", action="store_true", help="the tally alone")
    options = parser.parse_args()
    tally: Counter[str] = Counter()
    examples: Counter[str] = Counter()
    bad, began = 0, time.monotonic()
    for seed in range(options.seed, options.seed + options.count):
        sides, policy = random_case(seed, options.texts)
        by_kind = {failure.kind: failure for failure in reversed(failures_or_error(sides, policy))}
        by_kind = {kind: failure for kind, failure in by_kind.items() if options.kind in kind}
        is_new = True
        bad += any(failure.is_hard() for failure in by_kind.values())
        for kind, failure in sorted(by_kind.items()):
            tally[kind] += 1
            if options.quiet:
                continue
            print(f"seed {seed} {policy}: {kind}: {failure.file}: {failure.detail.strip()[:300]}", flush=True)
            if is_new and examples[kind] < options.show and not kind.startswith("raises"):
                # One of a package: the others are mostly of the same cause.
                examples[kind] += 1
                is_new = False
                about = of_law(kind, sides)
                print(
                    describe(smaller(about, fails_alike(about, policy, kind)), policy), "=" * 80, sep="\n", flush=True
                )
        if any(failure.is_hard() for failure in by_kind.values()):
            more = " ARGS=--texts" if options.texts else ""
            print(f"repeat: make nightly PARTS=packages SEED={seed} COUNT=1{more}", flush=True)
    for kind, count in tally.most_common():
        print(f"{count:6} {kind}")
    print(f"{bad} of {options.count} fail, {time.monotonic() - began:.0f} s")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
