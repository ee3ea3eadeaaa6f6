"""A package that nobody edited becomes what kpt fetches of the new version (law U)."""

from __future__ import annotations

import re

import pytest

from krm_merge import merge_packages
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, File
from krm_merge.packages.merge.trees import merge_trees

Texts = dict[str, str]

_METADATA = re.compile(r"^metadata:\n((?:  .*\n)+)", re.MULTILINE)


def fetch(texts: Texts, attribution: str = "kpt-pkg") -> Texts:
    """The files as `kpt pkg get` writes them: two spaces for lists, no blank lines, its notes on every resource."""
    return {path: _fetch(text, attribution) if path.endswith(".yaml") else text for path, text in texts.items()}


def _fetch(text: str, attribution: str) -> str:
    return "---\n".join(_annotate(document, attribution) for document in re.sub(r"\n\n+", "\n", text).split("---\n"))


def _annotate(document: str, attribution: str) -> str:
    if (metadata := _METADATA.search(document)) is None:
        return document
    names = {field: _field(document, field) for field in ("apiVersion", "kind", "  name", "  namespace")}
    group = names["apiVersion"].rpartition("/")[0]
    name, namespace = names["  name"], names["  namespace"]
    identifier = f"'{group}|{names['kind']}|{namespace or 'default'}|{name}'"
    lines = [f"    internal.kpt.dev/upstream-identifier: {identifier}\n"]
    author = re.search(r"    cnrm.cloud.google.com/blueprint: (.*)\n", document)
    fields = metadata.group(1)
    if ".cnrm." in group and author is None:
        lines.append(f"    cnrm.cloud.google.com/blueprint: '{attribution}'\n")
    elif author is not None:
        fields = fields.replace(author.group(1), f"{author.group(1)},{attribution}")
    if "  annotations:\n" not in fields:
        fields += "  annotations:\n"
    note = f"metadata: # kpt-merge: {namespace}/{name}\n"
    return document.replace(metadata.group(), note + fields + "".join(lines))


def _field(document: str, field: str) -> str:
    match = re.search(rf"^{field}: (\S+)", document, re.MULTILINE)
    return match.group(1) if match else ""


def update(original: Texts, upstream: Texts, local: Texts) -> tuple[Texts, list[str]]:
    """The files after an update, and what it reports as more than information."""
    before, theirs, ours = (
        {path: File(text.encode()) for path, text in side.items()} for side in (original, upstream, local)
    )
    merged = merge_trees(before, theirs, ours, PackageMerger(Policy("fail"), smart=True), notes_origin=True)
    files = {path: file.data.decode() for path, file in Changed(ours, merged.changes).items()}
    return files, [result.message for result in merged.results if result.severity != "info"]


def words(texts: Texts) -> dict[str, str]:
    """All that files say, without layout and quotes."""
    return {path: re.sub(r"[\s'\"]+", "", text) for path, text in texts.items()}


def firewall(name: str, priority: int = 1, *, extra: str = "", annotations: str = "") -> str:
    return f"""\
# Firewall {name}.

apiVersion: compute.cnrm.cloud.google.com/v1beta1
kind: ComputeFirewall
metadata:
  name: {name}
  namespace: networking # kpt-set: ${{namespace}}
{annotations}spec:
  priority: {priority}

  allow:
  - protocol: tcp
{extra}"""


def project(annotation: str, reference: str) -> str:
    return f"""\
apiVersion: serviceusage.cnrm.cloud.google.com/v1beta1
kind: Service
metadata:
  name: dns
{annotation}spec:
  resourceID: dns.googleapis.com
{reference}"""


KUSTOMIZATION = "resources:\n  - ../../base\npatches:\n  - path: patch.yaml\n"
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n"
PATCH = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 3\n"
AUTHOR = "  annotations:\n    cnrm.cloud.google.com/blueprint: cnrm/zone:networking/v{}\n"
PROJECT = "    cnrm.cloud.google.com/project-id: project # kpt-set: ${project}\n"

CASES = {
    "Config Connector: removed and changed": (
        {"a.yaml": firewall("a"), "b.yaml": firewall("b"), "c.yaml": firewall("c") + "---\n" + firewall("d")},
        {"a.yaml": firewall("a", 2), "c.yaml": firewall("d", 3), "new.yaml": firewall("e")},
    ),
    "Config Connector: the author's own part": (
        {"a.yaml": firewall("a", annotations=AUTHOR.format(1))},
        {
            "a.yaml": firewall("a", 2, annotations=AUTHOR.format(2)),
            "b.yaml": firewall("b", annotations=AUTHOR.format(2)),
        },
    ),
    "a setter that moves to another field": (
        {"a.yaml": project(f"  annotations:\n{PROJECT}", "")},
        {"a.yaml": project("", "  projectRef:\n    external: project # kpt-set: ${project}\n")},
    ),
    "a directory that moves": (
        {"base/a.yaml": firewall("a"), "base/b.yaml": firewall("b"), "base/README.md": "# Base\n"},
        {
            "app/base/a.yaml": firewall("a", 2),
            "app/base/b.yaml": firewall("b"),
            "app/base/README.md": "# Base\n\nNew.\n",
        },
    ),
    "an overlay that is renamed": (
        {
            "base/a.yaml": DEPLOYMENT,
            "base/kustomization.yaml": "resources:\n  - a.yaml\n",
            "overlays/lab/kustomization.yaml": KUSTOMIZATION,
            "overlays/lab/patch.yaml": PATCH,
        },
        {
            "base/a.yaml": DEPLOYMENT,
            "base/kustomization.yaml": "resources:\n  - a.yaml\n",
            "overlays/ulab/kustomization.yaml": KUSTOMIZATION,
            "overlays/ulab/patch.yaml": PATCH.replace("3", "4"),
        },
    ),
    "comments and a name that change": (
        {"a.yaml": firewall("a", extra="  # Until spring.\n  disabled: false\n")},
        {"a.yaml": firewall("z", extra="  # Until autumn.\n  disabled: false # kpt-set: ${disabled}\n")},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_becomes_a_fresh_get(case: str) -> None:
    original, upstream = CASES[case]
    files, reported = update(original, upstream, fetch(original))
    assert not reported
    assert words(files) == words(fetch(upstream))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("attribution", ["kpt-pkg-fn", "krm-pkg", "kpt-pkg,krm-fn"])
def test_whatever_command_of_kpt_wrote_last(case: str, attribution: str) -> None:
    original, upstream = CASES[case]
    files, reported = update(original, upstream, fetch(original, attribution))
    assert not reported
    assert words(files) == words(fetch(upstream, attribution))


def test_the_merge_of_directories_keeps_the_marks_that_local_has() -> None:
    original, upstream = {"a.yaml": firewall("a")}, {"a.yaml": firewall("a", 2)}
    sides = [{path: text.encode() for path, text in side.items()} for side in (original, upstream, fetch(original))]
    merged = merge_packages(*sides)
    assert not merged.has_conflicts
    assert words({path: data.decode() for path, data in merged.files.items()}) == words(fetch(upstream))


def test_the_attribution_of_a_resource_that_local_changed_is_kept() -> None:
    original = {"a.yaml": firewall("a", annotations=AUTHOR.format(1))}
    local = {"a.yaml": fetch(original)["a.yaml"].replace("priority: 1", "priority: 7")}
    upstream = {"a.yaml": firewall("a", annotations=AUTHOR.format(2), extra="  disabled: true\n")}
    files, reported = update(original, upstream, local)
    assert not reported
    assert "blueprint:cnrm/zone:networking/v2,kpt-pkg" in words(files)["a.yaml"]
    assert "priority: 7" in files["a.yaml"]
    assert "disabled: true" in files["a.yaml"]


def test_a_package_without_attribution_gets_none() -> None:
    original, upstream = {"a.yaml": firewall("a")}, {"a.yaml": firewall("a", 2), "b.yaml": firewall("b")}
    files, reported = update(original, upstream, original)
    assert not reported
    assert "blueprint" not in "".join(files.values())


def test_an_edit_beside_the_marks_is_an_edit() -> None:
    original = {"a.yaml": firewall("a"), "b.yaml": firewall("b"), "c.yaml": firewall("c")}
    local = fetch(original)
    local["a.yaml"] = local["a.yaml"].replace("priority: 1", "priority: 7")
    local["b.yaml"] = local["b.yaml"].replace("# Firewall b.", "# Our firewall.")
    local["c.yaml"] = local["c.yaml"].replace("networking", "net working", 1)
    upstream = {"b.yaml": firewall("b", 2), "c.yaml": firewall("c", 2)}
    files, reported = update(original, upstream, local)
    assert len(reported) == 1
    assert "upstream removed it, local changed it" in reported[0]
    assert files == local


@pytest.mark.parametrize("keeps", [True, False])
def test_a_null_of_local_stays_where_the_kptfile_says_so(keeps: bool) -> None:
    kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\nupstream:\n  type: git\n"
    kptfile += f"  preserveExplicitNull: {str(keeps).lower()}\n"
    original = {"a.yaml": DEPLOYMENT}
    upstream = {"a.yaml": DEPLOYMENT.replace("replicas: 1", "replicas: 2")}
    local = {"a.yaml": DEPLOYMENT.replace("replicas: 1", "replicas: null"), "Kptfile": kptfile}
    files, reported = update(original, upstream, local)
    assert files == local
    assert bool(reported) != keeps
