"""Digests of an image replaced in one file: all references, whole ones, and nothing else (C5).

The files of testdata/components/digests/before become those of after: in both, what is not the image's own stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from checkout import ROOT
from krm_merge.components import digests as replacement
from krm_merge.components.digests import (
    EditedFile,
    ImageIdentity,
    ImageReference,
    references,
)

DATA: Final = ROOT / "testdata" / "components" / "digests"

APP: Final = "quay.io/org/app"
RELEASED: Final = "registry.redhat.io/org/app-rhel9"
OLD: Final = "sha256:" + "0d" * 32
NEW: Final = "sha256:" + "1e" * 32
OTHER: Final = "sha256:" + "5a" * 32
FIRST: Final = "sha256:" + "aa" * 32
SECOND: Final = "sha256:" + "bb" * 32

BOM: Final = "\ufeff".encode()

FORMS: Final = {
    "plain": f"{APP}@{OLD}",
    "tag and digest": f"image: {APP}:v1.2_x-3@{OLD}",
    "docker://": f"skopeo copy docker://{APP}@{OLD} dir:x",
    "oci://": f"url: oci://{APP}:v1@{OLD}",
    "quoted in YAML": f"a: '{APP}@{OLD}'\nb: \"{APP}@{OLD}\"\n",
    "quoted in JSON": f'{{"image":"{APP}@{OLD}"}}',
    "FROM … AS": f"FROM --platform=linux/arm64 {APP}:v1@{OLD} AS base\n",
    "COPY --from": f"COPY --from={APP}@{OLD} /a /b\n",
    "RUN --mount": f"RUN --mount=type=bind,from={APP}@{OLD},target=/a true\n",
    "ARG default": f"ARG IMAGE={APP}@{OLD}\n",
    "RELATED_IMAGE": f"env:\n- name: RELATED_IMAGE_APP\n  value: {APP}@{OLD}\n",
    "relatedImages": f"relatedImages:\n- {{image: {APP}@{OLD}, name: app}}\n",
    "containerImage": f"annotations:\n  containerImage: {APP}:v1@{OLD}\n",
    "two images on one line": f'["{APP}:v1", "quay.io/org/other@{OTHER}", "{APP}@{OLD}"]',
    "default of a variable": f'IMAGE="${{IMAGE:-{APP}@{OLD}}}"',
    "JSON in YAML": f'alm: "[{{\\"image\\": \\"{APP}@{OLD}\\"}}]"',
    "end of a sentence": f"See {APP}@{OLD}.",
    "Markdown": f"`{APP}@{OLD}` and ({APP}@{OLD})",
    "in a comment": f"# was {APP}@{OLD}",
    "behind a byte order mark": f"\ufeff{APP}@{OLD}",
    "kustomize edit set image": f"kustomize edit set image app={APP}@{OLD}",
    "oci:: of a policy": f"policy:\n- oci::{APP}:v1@{OLD}\n",
    "behind the name of a rule": f"include:\n- images.allowed:{APP}@{OLD}\n",
    "replaced name of Argo CD": f"- {APP}={APP}:v1@{OLD}",
}

LOOKALIKES: Final = {
    "another registry in front": f"mirror.io/{APP}@{OTHER}",
    "another registry with port": f"mirror.io:5000/{APP}@{OTHER}",
    "another registry behind docker://": f"docker://mirror.io/{APP}@{OTHER}",
    "another scheme": f"https://{APP}@{OTHER}",
    "a longer scheme": f"xdocker://{APP}@{OTHER}",
    "a longer host": f"my.{APP}@{OTHER}",
    "a longer host with a dash": f"my-{APP}@{OTHER}",
    "a longer path": f"{APP}/sub@{OTHER}",
    "a longer name": f"{APP}2@{OTHER}",
    "a longer name with a dash": f"{APP}-rhel9@{OTHER}",
    "dots are dots": f"quayXio/org/app@{OTHER}",
    "a variable in front": f"${{MIRROR}}{APP}@{OTHER} $(MIRROR){APP}@{OTHER} {{{{ .registry }}}}{APP}@{OTHER}",
    "a variable that begins so": f"${APP}@{OTHER}",
    "a truncated digest": f"{APP}@{OTHER[:-1]}",
    "a digest that goes on": f"{APP}@{OTHER}0",
    "a word that goes on": f"{APP}@{OTHER}_x {APP}@{OTHER}X",
    "capitals": f"{APP}@sha256:{'A' * 64}",
    "another algorithm": f"{APP}@sha512:{'a' * 64}",
    "a tag without digest": f"{APP}:v1",
    "another image behind a tag": f'{{"a":"{APP}:v1","b":"quay.io/org/other@{OTHER}"}}',
    "another image behind a name": f"{APP} mirror.io/other@{OTHER}",
    "a tag that is none": f"{APP}:-v1@{OTHER} {APP}:@{OTHER} {APP}:{'v' * 129}@{OTHER}",
    "broken in two": f"{APP}\\\n@{OTHER}",
    "spaces": f"{APP} @{OTHER} {APP}@ {OTHER}",
    "other capitals": f"Quay.io/org/app@{OTHER}",
}


def replace_digests(
    data: bytes,
    repositories: Sequence[str],
    digests: Iterable[str],
    new: str,
    path: str = "a.txt",
) -> EditedFile:
    """Of an image whose name no other component has."""
    return replacement.replace_digests(data, repositories, ImageIdentity(frozenset(digests)), new, path)


def before_and_after() -> list[str]:
    return sorted(path.name for path in (DATA / "before").iterdir())


def lines(edited: EditedFile) -> list[tuple[str, int]]:
    """The severities of the problems, with the line that each message names behind the file, 0 for the whole file."""
    severities = (
        (problem.severity, re.search(r"(?:a\.txt|catalog\.yaml):(\d+)", problem.message)) for problem in edited.problems
    )
    return [(severity, int(line[1]) if line else 0) for severity, line in severities]


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("image", [APP, "localhost:5000/org/app", "host.example:443/a/b_c/d.e"])
def test_a_whole_reference_is_found(text: str, image: str) -> None:
    data = text.replace(APP, image).encode()
    edited = replace_digests(data, [image], {OLD}, NEW)
    assert edited.data == data.replace(OLD.encode(), NEW.encode())
    assert edited.problems == ()
    assert len(edited.replaced) == text.count(OLD)


@pytest.mark.parametrize("text", LOOKALIKES.values(), ids=LOOKALIKES)
def test_a_lookalike_beside_a_reference_is_left(text: str) -> None:
    data = f"{text}\n{APP}@{OLD} {text}\n".encode()
    assert replace_digests(data, [APP], {OLD}, NEW).data == data.replace(OLD.encode(), NEW.encode())


def test_a_reference_tells_where_it_stands() -> None:
    data = f"é: 1\r\nb: docker://{APP}:v1@{OLD}\r\n".encode()
    [reference] = references(data, ["x", f"{APP}:latest"])
    assert reference == ImageReference(
        data.index(b"docker"),
        len(data) - 2,
        data.index(b"sha256") + 7,
        repository=APP,
        tag="v1",
        digest=OLD,
        line=2,
    )


@pytest.mark.parametrize("name", before_and_after())
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", BOM])
def test_files(name: str, ending: str, mark: bytes) -> None:
    def written(side: str) -> bytes:
        text = (DATA / side / name).read_text(encoding="utf-8")
        return mark + text.replace("\n", ending).encode()

    edited = replace_digests(written("before"), [APP, RELEASED], {OLD}, NEW, path=name)
    assert edited.data == written("after")
    assert edited.problems == ()
    broken = written("before").split(b"\n")
    assert {broken[reference.line - 1].count(OLD.encode()) for reference in edited.replaced} <= {1, 2}
    again = replace_digests(edited.data, [APP, RELEASED], {OLD}, NEW, path=name)
    assert again == EditedFile(edited.data)


class TestKnown:
    def test_a_pinned_digest_is_left_also_where_it_is_the_only_one(self) -> None:
        data = f"a\n{APP}@{FIRST} {APP}@{FIRST}".encode()
        edited = replace_digests(data, [APP], {OLD}, NEW)
        assert (edited.data, edited.replaced) == (data, ())
        assert lines(edited) == [("warning", 2)]
        remedy = "it is kept. Replace it by a known one"
        assert edited.problems[0].message == f"{FIRST} of {APP} in a.txt:2 is not a known digest of it; {remedy}"

    def test_what_is_new_already_needs_nothing(self) -> None:
        data = f"{APP}@{NEW}\n{APP}:v1@{NEW}".encode()
        assert replace_digests(data, [APP], {OLD, NEW}, NEW) == EditedFile(data)

    def test_an_unknown_digest_beside_the_new_one_is_left(self) -> None:
        data = f"{APP}@{NEW}\n{APP}@{FIRST}\n{APP}:v1@{FIRST}".encode()
        edited = replace_digests(data, [APP], {OLD}, NEW)
        assert (edited.data, lines(edited)) == (data, [("info", 2)])

    def test_names_of_one_image_are_told_apart(self) -> None:
        data = f"{APP}@{OLD}\n{RELEASED}@{SECOND}".encode()
        edited = replace_digests(data, [APP, RELEASED], {OLD, SECOND}, NEW)
        assert edited.data == f"{APP}@{NEW}\n{RELEASED}@{NEW}".encode()
        assert edited.problems == ()

    @pytest.mark.parametrize("new", ["", "1e" * 32, NEW.upper(), NEW[:-1], NEW + "0", NEW + "\n", f"{APP}@{NEW}"])
    def test_the_new_digest_has_to_be_one(self, new: str) -> None:
        data = f"{APP}@{OLD}".encode()
        edited = replace_digests(data, [APP], {OLD}, new)
        assert (edited.data, lines(edited)) == (data, [("error", 0)])


class TestSeveralDigests:
    CATALOG: Final = (DATA / "catalog.yaml").read_bytes()

    @pytest.mark.parametrize("digests", [(OLD,), (OLD, FIRST, SECOND)])
    def test_a_catalog_is_refused(self, digests: tuple[str, ...]) -> None:
        edited = replace_digests(self.CATALOG, [APP], digests, NEW, "catalog.yaml")
        assert (edited.data, edited.replaced, lines(edited)) == (self.CATALOG, (), [("error", 5)])
        assert "catalog.yaml:5 holds 3 digests of quay.io/org/app" in edited.problems[0].message

    def test_a_catalog_without_a_known_digest_is_kept(self) -> None:
        """C15: what needs no replacement blocks nothing."""
        edited = replace_digests(self.CATALOG, [APP], (), NEW, "catalog.yaml")
        assert (edited.data, edited.replaced, lines(edited)) == (self.CATALOG, (), [("info", 5)])
        assert "has 3 digests of quay.io/org/app, of which 3 are unknown (" in edited.problems[0].message

    def test_one_that_is_new_already_is_one_of_several(self) -> None:
        data = f"{APP}@{NEW} {APP}@{OLD}".encode()
        assert lines(replace_digests(data, [APP], {OLD}, NEW)) == [("error", 1)]

    def test_another_name_in_the_file_is_not_changed_either(self) -> None:
        data = f"{APP}@{FIRST} {APP}@{OLD} {RELEASED}@{OLD}".encode()
        edited = replace_digests(data, [RELEASED, APP], {OLD}, NEW)
        assert (edited.data, edited.replaced, lines(edited)) == (data, (), [("error", 1)])

    def test_other_images_do_not_count(self) -> None:
        data = f"{APP}@{OLD} quay.io/org/other@{FIRST} mirror.io/{APP}@{SECOND}".encode()
        assert replace_digests(data, [APP], {OLD}, NEW).data == data.replace(OLD.encode(), NEW.encode())


class TestFields:
    @pytest.mark.parametrize(
        "text",
        [
            f"images:\n- name: {APP}\n  newTag: v1\n  digest: {OLD}\n",
            f"images:\n- digest: {OLD}\n  newName: {APP}\n  name: app\n",
            f"spec:\n  images: [{{name: {APP}, digest: '{OLD}'}}]\n",
            f'{{"images":[{{"name":"{APP}","digest":"{OLD}"}}]}}',
            f"image:\n  repository: {APP}\n  digest: {OLD}\n",
            f"image:\n  registry: ''\n  repository: {APP}\n  digest: {OLD}\n",
            f"image:\n  registry:\n  repository: {APP}\n  digest: {OLD}\n",
            f"a:\n  b:\n  - registry: quay.io\n    repository: org/app\n    digest: {OLD} # é\n",
            f"image: &app\n  repository: {APP}\n  digest: {OLD}\njob: *app\n",
            f"x: &x {{registry: quay.io}}\nimage:\n  <<: *x\n  repository: org/app\n  digest: {OLD}\n",
            f"name: &name {APP}\nimage:\n  repository: *name\n  tag: 'v1@{OLD}'\n",
            f"a: 1\n---\n\n---\nimage:\n  repository: {APP}\n  digest:\n    {OLD}\n",
            f"t: »日本𝄞«\nimage: {{repository: {APP}, note: '…', digest: {OLD}}}\n",
        ],
    )
    @pytest.mark.parametrize("mark", [b"", BOM])
    def test_a_digest_of_its_own_is_found(self, text: str, mark: bytes) -> None:
        for data in (mark + text.encode(), mark + text.replace("\n", "\r\n").encode()):
            edited = replace_digests(data, [APP], {OLD}, NEW)
            assert edited.data == data.replace(OLD.encode(), NEW.encode())
            assert edited.problems == ()

    @pytest.mark.parametrize(
        "text",
        [
            f"images:\n- name: {APP}\n  newName: mirror.io/app\n  digest: {OLD}\n",
            f"images:\n- name: other\n  digest: {OLD}\n- name: {APP}\n  newTag: v1\n",
            f"containers:\n- name: {APP}\n  digest: {OLD}\n",
            f"name: {APP}\ndigest: {OLD}\n",
            f"image:\n  registry: mirror.io\n  repository: {APP}\n  digest: {OLD}\n",
            f"image:\n  repository: org/app\n  digest: {OLD}\n",
            f"image:\n  repository: {APP}\n  sub:\n    digest: {OLD}\n",
            f"d: &d {OLD}\nimage:\n  repository: {APP}\n  digest: *d\n",
            f"image:\n  repository: {APP}\n  digest: &d {OLD}\nother: {{repository: other, digest: *d}}\n",
            f"base: &base\n  digest: {OLD}\nimage:\n  <<: *base\n  repository: {APP}\n",
            f"image:\n  repository: {APP}\n  digest: {OLD}0\n",
            f"image:\n  repository: {APP}\n  digest: x {OLD}\n",
            f"image:\n  repository: {APP}\n  checksum: {OLD}\n",
            f"image:\n  repository: {APP}\n  sha: {OLD[7:]}\n",
            f"image:\n  repository: {APP}\n  repository: {APP}\n  digest: {OLD}\n",
            f"image: {{{{ .Values.image }}}}\n  repository: {APP}\n  digest: {OLD}\n",
            f'image:\n  repository: {APP}\n  digest: "{OLD[:20]}\\x{ord(OLD[20]):02x}{OLD[21:]}"\n',
        ],
    )
    def test_what_is_not_surely_of_the_image_is_left(self, text: str) -> None:
        edited = replace_digests(text.encode(), [APP], {OLD}, NEW)
        assert (edited.data, edited.replaced) == (text.encode(), ())

    def test_a_file_in_another_encoding_has_no_fields(self) -> None:
        data = f"# é\nimage:\n  repository: {APP}\n  digest: {OLD}\n# {APP}@{OLD}\n".encode("latin-1")
        edited = replace_digests(data, [APP], {OLD}, NEW)
        assert edited.data == data.replace(f"@{OLD}".encode(), f"@{NEW}".encode())
        assert lines(edited) == [("warning", 4)]

    def test_a_field_tells_tag_and_line(self) -> None:
        data = f"é:\n  repository: {APP}\n  tag: v1\n  digest: {OLD}\n".encode()
        at = data.index(b"sha256") + 7
        assert references(data, [APP]) == [ImageReference(at, at + 64, at, APP, "v1", OLD, 4)]

    def test_fields_and_words_count_together(self) -> None:
        data = f"image: {{repository: {APP}, digest: {OLD}}}\nother: {APP}@{FIRST}\n".encode()
        assert lines(replace_digests(data, [APP], {OLD}, NEW)) == [("error", 1)]


class TestVariables:
    @pytest.mark.parametrize(
        "text",
        [
            f"ARG BASE_DIGEST={OLD}\nFROM {APP}:v1@${{BASE_DIGEST}} AS base\nFROM {APP}@$BASE_DIGEST\n",
            f"D={OLD}\nskopeo copy docker://{APP}@$D dir:x\n",
            f"export APP_DIGEST='{OLD}' # pinned\r\nskopeo copy docker://{APP}:v1@${{APP_DIGEST}} dir:x\r\n",
            f"APP_SHA := {OLD}\nRUN = podman run {APP}@$APP_SHA\n",
            f"ostree container image: ostree-image-signed:docker://{APP}@{OLD}\n",
        ],
    )
    def test_a_digest_in_a_variable(self, text: str) -> None:
        """C5: as in Dockerfiles, scripts and Makefiles."""
        edited = replace_digests(text.encode(), [APP], {OLD}, NEW, path="build.env")
        assert edited.data.decode() == text.replace(OLD[7:], NEW[7:])
        assert [reference.digest for reference in edited.replaced] == [OLD]
        assert edited.problems == ()

    @pytest.mark.parametrize(
        "text",
        [
            f"IMAGE={APP}\nDIGEST={OLD}\n",
            f"env:\n- {{name: APP_IMAGE, value: {APP}}}\n- {{name: APP_DIGEST, value: '{OLD}'}}\n",
        ],
    )
    def test_a_digest_that_only_its_name_joins_to_the_image_is_named(self, text: str) -> None:
        edited = replace_digests(text.encode(), [APP], {OLD}, NEW)
        assert (edited.data, edited.replaced) == (text.encode(), ())
        (problem,) = edited.problems
        assert f"has {OLD} outside references to the image too; it is kept there" in problem.message

    @pytest.mark.parametrize(
        "text",
        [
            f"ARG D={OLD}\nFROM {APP}@$D\nFROM quay.io/org/other@${{D}}\nFROM {RELEASED}@$D",
            f"D={OLD}\nD={OTHER}\nuse {APP}@$D\n",
            f"D={OLD}\nuse {APP}@$DIGEST m.io/{APP}@$D\n",
        ],
    )
    def test_what_does_not_surely_belong_together_is_left(self, text: str) -> None:
        edited = replace_digests(text.encode(), [APP], {OLD}, NEW)
        assert (edited.data, edited.replaced) == (text.encode(), ())


class TestNames:
    HUB: Final = ("docker.io/nginx", "docker.io/library/nginx", "index.docker.io/nginx")

    @pytest.mark.parametrize("repository", HUB)
    @pytest.mark.parametrize("written", HUB)
    def test_docker_hub_has_several_spellings(self, repository: str, written: str) -> None:
        [reference] = references(f"FROM {written}:1@{OLD}\n".encode(), [repository])
        assert reference.repository == repository

    def test_a_short_name_is_found_only_where_it_is_asked_for(self) -> None:
        data = f"FROM nginx@{OLD}\n".encode()
        assert references(data, ["docker.io/library/nginx"]) == []
        assert [reference.repository for reference in references(data, ["docker.io/library/nginx", "nginx"])] == [
            "nginx"
        ]
        assert references(f"FROM docker.io/library/nginx@{OLD}\n".encode(), ["nginx"]) == []

    def test_of_spellings_of_one_image_the_first_counts(self) -> None:
        data = f"docker.io/x@{OLD} docker.io/library/x@{FIRST}".encode()
        names = ["docker.io/library/x", "docker.io/x"]
        assert {reference.repository for reference in references(data, names)} == {"docker.io/library/x"}
        assert lines(replace_digests(data, names, {OLD}, NEW)) == [("error", 1)]

    @pytest.mark.parametrize("text", ["other:app@", "host:5000/app@"])
    @pytest.mark.parametrize("name", ["app", "5000/app"])
    def test_a_colon_before_a_short_name(self, text: str, name: str) -> None:
        """A tag, or a port: of another image."""
        assert references(f"{text}{OLD}".encode(), [name]) == []

    @pytest.mark.parametrize("repositories", [[], [""], ["", ":v1"]])
    def test_no_name_matches_nothing(self, repositories: list[str]) -> None:
        assert references(f"{APP}@{OLD} @{OLD} :v1@{OLD}".encode(), repositories) == []

    def test_one_name_may_begin_another(self) -> None:
        data = f"{APP}/sub@{OLD} {APP}@{FIRST} {APP}-x@{SECOND}".encode()
        matches = references(data, [APP, f"{APP}/sub", f"{APP}-x"])
        assert [(match.repository, match.digest) for match in matches] == [
            (f"{APP}/sub", OLD),
            (APP, FIRST),
            (f"{APP}-x", SECOND),
        ]


def test_an_edit_that_went_wrong_is_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replacement, "_with_hex", lambda data, digits: data)
    data = f"x {APP}@{OLD} ".encode()
    edited = replace_digests(data, [APP], {OLD}, NEW, path="a.sh")
    assert (edited.data, edited.replaced, lines(edited)) == (data, (), [("error", 0)])
    assert edited.problems[0].message.endswith("; a.sh is not changed")


HEX: Final = st.sampled_from([OLD, FIRST, SECOND, NEW, OTHER])
WRAPS: Final = st.sampled_from(["{}", "a: {}", '"{}"', "FROM {} AS x", "# {}", "[{}]", "x={},y", "docker://{}", "é{}"])
NAMES: Final = st.sampled_from([APP, f"{APP}:v1", RELEASED])
REFERENCES: Final = st.builds(lambda wrap, name, of: wrap.format(f"{name}@{of}"), WRAPS, NAMES, HEX)
FIELDS: Final = st.builds(
    lambda name, of, at: f"k{at}: {{repository: {name}, digest: {of}}}",
    st.sampled_from([APP, RELEASED, "o"]),
    HEX,
    st.integers(0, 99),
)
LOOKALIKE: Final = st.one_of(
    st.sampled_from(sorted(LOOKALIKES.values())),
    st.builds(
        lambda head, of, tail: f"{head}{APP}@{of}{tail}",
        st.sampled_from(["m.io/", "m:5/", "_", "x", "-", "}", "https://", "$"]),
        HEX,
        st.sampled_from(["", " ", "0", ","]),
    ),
    st.text(alphabet=f"{APP}@:sha256 0d\n\r\t\"'{{}}[]-#é\x85\u2028", max_size=60),
)
TEXTS: Final = st.lists(st.one_of(REFERENCES, FIELDS, LOOKALIKE), max_size=8).flatmap(
    lambda parts: st.builds(
        lambda joint, mark: mark + joint.join(parts).encode(),
        st.sampled_from(["\n", "\r\n", " ", "\n---\n"]),
        st.sampled_from([b"", BOM]),
    )
)
KNOWN: Final = st.sets(st.sampled_from([OLD, FIRST, NEW]))
BOTH: Final = (APP, RELEASED)


@given(TEXTS, KNOWN)
@example(f"{APP}@{OLD} {APP}@{FIRST}".encode(), {OLD})
def test_only_hex_characters_of_references_change(data: bytes, digests: set[str]) -> None:
    edited = replace_digests(data, BOTH, digests, NEW)
    assert len(edited.data) == len(data)
    hexes = {at for reference in references(data, BOTH) for at in range(reference.hex_start, reference.hex_start + 64)}
    assert all(a == b or at in hexes for at, (a, b) in enumerate(zip(data, edited.data, strict=True)))
    assert all(
        reference.end >= reference.hex_start + 64 and reference.start <= reference.hex_start
        for reference in references(data, BOTH)
    )
    if any(problem.severity == "error" for problem in edited.problems):
        assert (edited.data, edited.replaced) == (data, ())


@given(TEXTS, KNOWN)
def test_what_was_replaced_is_new_and_what_was_not_is_told(data: bytes, digests: set[str]) -> None:
    edited = replace_digests(data, BOTH, digests, NEW)
    again = replace_digests(edited.data, BOTH, digests, NEW)
    assert (again.data, again.replaced) == (edited.data, ())
    before, after = references(data, BOTH), references(edited.data, BOTH)
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert [a for a, _ in changed] == list(edited.replaced)
    assert all(b.digest == NEW for _, b in changed)
    messages = "\n".join(problem.message for problem in edited.problems)
    refused = any(problem.severity == "error" for problem in edited.problems)
    remaining = [(reference.digest, reference.repository) for reference in after if reference.digest != NEW]
    assert refused or all(
        f"{old} of {name}" in messages or f"digests of {name}, of" in messages for old, name in remaining
    )


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_no_fault(data: bytes) -> None:
    text = data + f"\nimage: {{repository: {APP}, digest: {OLD}}} ".encode()
    for given_bytes in (data, text):
        edited = replace_digests(given_bytes, [APP], {OLD}, NEW)
        assert re.sub(rb"sha256:[0-9a-f]{64}", b"", edited.data) == re.sub(rb"sha256:[0-9a-f]{64}", b"", given_bytes)


def test_a_name_that_holds_a_stale_digest_is_named() -> None:
    """Of relatedImages, for example."""
    text = f"relatedImages:\n- name: app-{OLD[7:]}-annotation\n  image: {APP}@{OLD}\n".encode()
    edited = replace_digests(text, [APP], {OLD}, NEW, path="csv.yaml")
    assert edited.data == text.replace(f"@{OLD}".encode(), f"@{NEW}".encode())
    (problem,) = edited.problems
    assert problem.message.startswith(f"csv.yaml:2 has {OLD} outside references to the image")
