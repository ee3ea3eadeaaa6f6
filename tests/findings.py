"""What a merge reported, beside what a row of a table expects of it."""

from __future__ import annotations

Finding = dict[str, str | None]


def cut_to_expected(reported: list[Finding], expected: list[Finding]) -> list[str]:
    """The findings as text, each cut down to the fields of the expectation it meets; whole where it meets none."""
    left, cut = list(reported), []
    for expectation in sorted(expected, key=len, reverse=True):
        met = next((finding for finding in left if expectation.items() <= finding.items()), None)
        if met is not None:
            left.remove(met)
            cut.append(expectation)
    return by_text(cut + left)


def by_text(findings: list[Finding]) -> list[str]:
    return sorted(" ".join(f"{key}={value}" for key, value in sorted(finding.items())) for finding in findings)
