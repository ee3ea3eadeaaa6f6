"""The laws of a merge (docs/rules.md) for manifests in one file and files in any layout."""

from __future__ import annotations

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from generated.manifests import chart, documents, release
from vendored.layouts import LAYOUTS, laid_out, objects
from vendored.versions import merge

APPS = 2


VERSIONS = {"release": (release(1, APPS), release(2, APPS)), "chart": (chart(1, APPS), chart(2, APPS))}


@pytest.mark.parametrize("form", VERSIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_local_that_changed_nothing_gets_all_of_upstream(layout: str, form: str) -> None:
    before, after = VERSIONS[form]
    texts = documents(before) if form == "release" else before.split("---\n")[1:]
    done = merge(before, after, laid_out(texts, LAYOUTS[layout]))
    assert objects(done.files) == objects({"": after})
    assert done.warnings == []


@pytest.mark.parametrize("layout", LAYOUTS)
def test_where_upstream_changed_nothing_local_stays_as_it_is(layout: str) -> None:
    before, _ = VERSIONS["release"]
    local = laid_out([text for text in documents(before) if "Service" not in text], LAYOUTS[layout])
    assert merge(before, before, local).changed == []


@examples(layout=st.sampled_from(list(LAYOUTS)), gone=st.sets(st.integers(0, 6 * APPS)))
def test_a_second_merge_changes_nothing_and_changes_of_local_are_kept(layout: str, gone: set[int]) -> None:
    before, after = VERSIONS["release"]
    texts = [text for number, text in enumerate(documents(before)) if number not in gone]
    resource = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: mine\n"
    edited = [text.replace("replicas: 1", "replicas: 7 # ours") for text in texts]
    local = laid_out([*edited, resource], LAYOUTS[layout])
    done = merge(before, after, local)
    assert sum(text.count("replicas: 7 # ours") for text in done.files.values()) == str(edited).count("replicas: 7")
    assert sum(text.count(resource) for text in done.files.values()) == 1
    again = merge(before, after, done.files)
    assert again.changed == []
    assert merge(after, after, done.files).changed == []
