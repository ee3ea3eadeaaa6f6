"""Work grows with the number of resources, not faster; counted in calls of functions, as in tests/test_growth.py."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import pytest

from effort import calls
from generated.manifests import documents, release
from vendored.layouts import LAYOUTS, laid_out
from vendored.versions import merge

MOST = 1.2
"""The exponent of growth that is allowed: 1 is in proportion, 2 four times the work for twice the size."""


def calls_of(apps: int, layout: str) -> int:
    """How many functions are called when a release doubles its apps."""
    before, after = release(1, apps), release(2, 2 * apps)
    local = laid_out(documents(before), LAYOUTS[layout])
    return calls(partial(merge, before, after, local))


@pytest.mark.parametrize("layout", ["kind-name", "without a system"])
def test_work_grows_with_the_number_of_resources(layout: str) -> None:
    calls_of(1, layout)
    work = [calls_of(apps, layout) for apps in (4, 8, 16)]
    first, second = (more - less for less, more in pairwise(work))
    assert math.log2(second / first) < MOST
