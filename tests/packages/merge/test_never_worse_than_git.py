"""Laws E to H on packages as texts, and the merge beside git's: it is never worse (law H).

For many packages: make nightly PARTS=packages [COUNT=20000] [SEED=0] [ARGS=--texts]
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from generated.texts import Triple, lines_triple, triple
from packages.merge.beside_git import Winner, failures

SEED = st.integers(0, 2**48)
# A smaller seed is no smaller package.
ANY_SEED = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])


def random_case(seed: int, texts: bool = False) -> tuple[Triple, Winner]:
    rng = random.Random(seed)
    policy: Winner = rng.choice(["upstream", "local"])
    return (lines_triple(rng) if texts else triple(rng)), policy


def check(seed: int, texts: bool = False) -> None:
    """Fails with what is wrong; `make nightly PARTS=packages SEED=... COUNT=1` repeats it."""
    sides, policy = random_case(seed, texts)
    hard = [failure for failure in failures(sides, policy) if failure.is_hard()]
    problems = "\n".join(f"{failure.kind}: {failure.file}: {failure.detail.strip()[:300]}" for failure in hard)
    assert not hard, f"seed {seed}, {policy} wins conflicts\n{problems}"


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
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0, help="the first of as many")
    parser.add_argument("--texts", action="store_true", help="plain texts instead of packages")
    options = parser.parse_args()
    bad = 0
    for seed in range(options.seed, options.seed + options.count):
        try:
            check(seed, options.texts)
        except Exception as problem:
            bad += 1
            more = " ARGS=--texts" if options.texts else ""
            print(f"{problem!r}\nrepeat: make nightly PARTS=packages SEED={seed} COUNT=1{more}", flush=True)
    print(f"{bad} of {options.count} fail")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
