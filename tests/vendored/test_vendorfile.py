"""The record of where manifests come from (rule R12)."""

from __future__ import annotations

import hashlib

import pytest
import yaml

from krm_merge.packages.files.tree import PackageError
from krm_merge.vendored.merging import align_manifests
from krm_merge.vendored.vendorfile import ManifestSource
from vendored.versions import config_map, merge, stream, version

V1, V2 = config_map("a", x="1"), stream(config_map("a", x="2"), config_map("b"))


def digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def first() -> dict[str, str]:
    """A directory into which version 1 was fetched."""
    return merge(None, V1, {}, record=ManifestSource("https://example.com/install.yaml", "v1")).files


def test_a_first_version_is_recorded_with_all_that_is_known() -> None:
    files = first()
    assert files["configmap-a.yaml"] == V1
    assert files["Vendorfile.original"] == V1
    assert yaml.safe_load(files["Vendorfile"]) == {
        "apiVersion": "fn.kpt.dev/v1alpha1",
        "kind": "Vendorfile",
        "metadata": {"name": "deploy", "annotations": {"config.kubernetes.io/local-config": "true"}},
        "source": "https://example.com/install.yaml",
        "version": "v1",
        "digest": digest(V1),
        "original": "Vendorfile.original",
    }


def test_the_next_merge_needs_no_original() -> None:
    local = {**first(), "configmap-a.yaml": config_map("a", x="1", own="1")}
    done = merge(None, V2, local, record=ManifestSource(version="v2"))
    assert done.files["configmap-a.yaml"] == config_map("a", x="2", own="1")
    assert done.files["configmap-b.yaml"] == config_map("b")
    assert done.files["Vendorfile.original"] == V2
    before = yaml.safe_load(local["Vendorfile"])
    assert yaml.safe_load(done.files["Vendorfile"]) == {**before, "version": "v2", "digest": digest(V2)}


def test_the_second_merge_of_a_version_changes_nothing() -> None:
    after = merge(None, V2, first(), record=ManifestSource(version="v2"))
    again = merge(None, V2, after.files, record=ManifestSource(version="v2"))
    assert again.changed == []
    assert again.results == []


def test_comments_of_a_vendorfile_are_kept() -> None:
    local = first()
    local["Vendorfile"] = local["Vendorfile"].replace("version: v1", "# renovate: depName=x\nversion: v1 # ours")
    done = merge(None, V2, local, record=ManifestSource(version="v2"))
    assert "# renovate: depName=x\nversion: v2 # ours\n" in done.files["Vendorfile"]


def test_a_version_that_is_not_given_is_unknown() -> None:
    done = merge(None, V2, first(), record=ManifestSource())
    assert "version" not in yaml.safe_load(done.files["Vendorfile"])
    assert yaml.safe_load(done.files["Vendorfile"])["source"] == "https://example.com/install.yaml"


def test_a_version_is_known_as_long_as_the_content_is_the_same() -> None:
    assert merge(None, V1, first(), record=ManifestSource()).changed == []


def test_credentials_are_not_recorded() -> None:
    done = merge(None, V1, {}, record=ManifestSource("https://me:secret@example.com/install.yaml"))
    assert "secret" not in done.files["Vendorfile"]


def test_the_original_may_have_another_name() -> None:
    local = first()
    local["Vendorfile"] = local["Vendorfile"].replace("Vendorfile.original", "upstream/install.txt")
    local["upstream/install.txt"] = local.pop("Vendorfile.original")
    done = merge(None, V2, local, record=ManifestSource())
    assert done.files["upstream/install.txt"] == V2
    assert "Vendorfile.original" not in done.files


def test_an_original_that_is_not_the_recorded_one_is_reported() -> None:
    done = merge(config_map("a", x="0"), V2, first())
    assert done.warnings[-1] == "old.yaml is not the original of v1 that deploy/Vendorfile records"
    assert merge(V1, V2, first()).warnings == []


def test_a_directory_with_resources_and_no_record_needs_an_original() -> None:
    with pytest.raises(PackageError) as refused:
        merge(None, V1, {"a.yaml": V1})
    assert str(refused.value) == (
        "deploy has no Vendorfile with the version of upstream that it comes from; also give that version: "
        "ORIGINAL UPSTREAM LOCAL"
    )


def change(**files: str | None) -> dict[str, str]:
    return {path: text for path, text in {**first(), **files}.items() if text is not None}


RECORD = first()["Vendorfile"]


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"Vendorfile.original": None}, "deploy/Vendorfile: original Vendorfile.original does not exist; restore it"),
        ({"Vendorfile.original": V2}, "deploy/Vendorfile: original Vendorfile.original is not as recorded"),
        ({"Vendorfile": "a: [\n"}, "deploy/Vendorfile: line 2, column 1: not valid YAML"),
        ({"Vendorfile": "text\n"}, "deploy/Vendorfile: a Vendorfile is expected; remove the file, or restore it"),
        ({"Vendorfile": ""}, "deploy/Vendorfile: a Vendorfile is expected; remove the file, or restore it"),
        (
            {"Vendorfile": RECORD.replace("version: v1", "version: 1.2")},
            "deploy/Vendorfile: version is 1.2; a string is expected",
        ),
        ({"Vendorfile": RECORD.replace("version: v1", "versoin: v1")}, "deploy/Vendorfile: versoin"),
        (
            {"Vendorfile": RECORD.replace("original: ", "original: ../")},
            "original: ../Vendorfile.original is not a file in",
        ),
        ({"Vendorfile": RECORD.replace("original: ", "original: /etc/")}, "is not a file in this directory"),
    ],
)
def test_a_record_that_cannot_be_used_is_refused(files: dict[str, str | None], problem: str) -> None:
    with pytest.raises(PackageError) as refused:
        merge(None, V2, change(**files))
    assert problem in str(refused.value)


def test_a_directory_is_not_recorded() -> None:
    manifests = align_manifests(
        version("old.yaml", V1), version("new", {"a.yaml": V1}), version("deploy", {"a.yaml": V1})
    )
    with pytest.raises(PackageError, match="UPSTREAM is a directory; delete the record to merge directories"):
        manifests.record_changes(ManifestSource(), "deploy")


def test_one_local_file_is_not_recorded() -> None:
    manifests = align_manifests(version("old", {"a.yaml": V1}), version("new.yaml", V1), version("deploy.yaml", V1))
    with pytest.raises(PackageError, match=r"deploy\.yaml is one file; a Vendorfile is for manifests in a directory"):
        manifests.record_changes(ManifestSource(), "deploy")
