"""The files that say what a package is and where it comes from, as pydantic models: the sources of their schemas.

The Kptfile is what kpt accepts in one. Source: kpt's `api/kptfile/v1`, types and validation of 2026-08. Fields that
older versions of kpt refuse are included.
"""

from __future__ import annotations

import re
from posixpath import normpath
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, WithJsonSchema, model_validator

from krm_merge.krm import DocumentModel, pattern_of
from krm_merge.schema import FUNCTION_ALTERNATIVES


def _checked_text(value: object) -> object:
    if isinstance(value, dict | list):
        raise ValueError(f"is a {'map' if isinstance(value, dict) else 'list'}; a string is expected")
    return value


# kpt reads every scalar as text, so `ref: 1.0` is a tag; null is a field that is left out.
Text = Annotated[Any, AfterValidator(_checked_text), WithJsonSchema({"type": ["string", "number", "boolean", "null"]})]
Texts = list[Text] | None
TextMap = dict[str, Text] | None

_COMPONENT, _HOST_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*", r"[a-zA-Z0-9]+(?:-+[a-zA-Z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:(?:{_HOST_PART}(?:\.{_HOST_PART})*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?/)?{_COMPONENT}(?:/{_COMPONENT})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
    r"(?:@(?:sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}))?"
)
"""A reference of an image, as github.com/distribution/reference reads it."""

_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return bool(parts.scheme) and parts.port != 0 and not _BAD_ESCAPE.search(text)
    except ValueError:
        return False


_ONE_PROGRAM: list[JsonValue] = [{"required": ["image"]}, {"required": ["exec"]}]
_CONFIGS = FUNCTION_ALTERNATIVES[1]


class _Fields(BaseModel):
    """A mapping with these fields and no others: kpt reads no Kptfile that has more."""

    model_config = ConfigDict(extra="forbid")


class KptfileMetadata(_Fields):
    """The metadata of a Kptfile: fewer fields than those of resources in a cluster."""

    name: Text = Field(description="The name of the package.")
    namespace: Text = Field(None, description="A namespace; kpt does not use it.")
    labels: TextMap = Field(None, description="Labels of the package.")
    annotations: TextMap = Field(None, description="Annotations of the package.")


class KptfileGit(_Fields):
    """A package in a git repository."""

    repo: Text = Field(None, description="The address of the repository.")
    directory: Text = Field(None, description="The directory of the package in the repository.")
    ref: Text = Field(None, description="A tag, branch or commit.")

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        missing = [name for name in ("repo", "ref") if not self._text(name).strip()]
        if missing:
            raise ValueError(f"has no {' and no '.join(missing)}")
        if any(map(str.isspace, repo := self._text("repo"))):
            raise ValueError("repo holds a blank")
        if "://" in repo and not _is_url(repo):
            raise ValueError("repo is not a valid URL; correct its scheme, host or port")
        return self

    def _text(self, name: str) -> str:
        value = getattr(self, name)
        return "" if value is None else str(value)


class KptfileGitLock(KptfileGit):
    """A commit of a package in a git repository."""

    commit: Text = Field(None, description="The commit that was fetched.")

    @model_validator(mode="after")
    def _has_commit(self) -> Self:
        if not self._text("commit"):
            raise ValueError("has no commit")
        return self


class KptfileGenericLock(_Fields):
    """A version of a package in a store that is not git."""

    storeID: Text = Field(None, description="The kind of the store.")
    resourceID: Text = Field(None, description="The package in the store.")
    resourceVersion: Text = Field(None, description="The version that was fetched.")


class KptfileUpstream(_Fields):
    """What the package follows."""

    type: Literal["git"] | None = Field(None, description="The kind of the upstream.")
    git: KptfileGit | None = Field(None, description="The package in git.")
    updateStrategy: Literal["resource-merge", "fast-forward", "force-delete-replace", "copy-merge"] | None = Field(
        None, description="How updates change the package."
    )
    preserveExplicitNull: bool | None = Field(None, description="Whether fields that are null locally are kept.")

    @model_validator(mode="after")
    def _has_source(self) -> Self:
        if self.type == "git" and self.git is None:
            raise ValueError("is of type git, but has no git")
        return self


class KptfileUpstreamLock(_Fields):
    """What the package was last fetched from. Programs write it."""

    type: Literal["git", "generic"] | None = Field(None, description="The kind of the upstream.")
    git: KptfileGitLock | None = Field(None, description="The commit in git.")
    generic: KptfileGenericLock | None = Field(None, description="The version in another store.")

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if self.git is not None and self.generic is not None:
            raise ValueError("has both git and generic; keep one of them")
        if self.type is not None and getattr(self, self.type) is None:
            raise ValueError(f"is of type {self.type}, but has no {self.type}")
        return self


class KptfileReadinessGate(_Fields):
    """A condition that the package waits for."""

    conditionType: str = Field(min_length=1, description="The type of the condition in `status.conditions`.")


class KptfileInfo(_Fields):
    """What the package is; kpt passes it through."""

    site: Text = Field(None, description="The page of the package.")
    emails: Texts = Field(None, description="The addresses of its authors.")
    license: Text = Field(None, description="The SPDX identifier of its license.")
    licenseFile: Text = Field(None, description="The path of the license in the package.")
    description: Text = Field(None, description="A one-sentence description of the package.")
    keywords: Texts = Field(None, description="Words to find it by.")
    man: Text = Field(None, description="The path of its documentation in the package.")
    readinessGates: list[KptfileReadinessGate] | None = Field(None, description="Conditions for its readiness.")

    @model_validator(mode="after")
    def _holds_license(self) -> Self:
        path = normpath(str(self.licenseFile or "."))
        if path.startswith("/") or ".." in path:
            raise ValueError("licenseFile is outside the package")
        return self


class KptfileSelector(_Fields):
    """Resources by what they are; all fields that are given have to fit."""

    apiVersion: Text = Field(None, description="Their apiVersion.")
    kind: Text = Field(None, description="Their kind.")
    name: Text = Field(None, description="Their name.")
    namespace: Text = Field(None, description="Their namespace.")
    labels: TextMap = Field(None, description="Labels that they have.")
    annotations: TextMap = Field(None, description="Annotations that they have.")
    resourceFileRegexp: Text = Field(None, description="A regular expression that the path of their file matches.")

    @model_validator(mode="after")
    def _has_expression(self) -> Self:
        try:
            pattern_of(str(self.resourceFileRegexp or ""))
        except ValueError as error:
            raise ValueError(f"resourceFileRegexp: {error}") from None
        return self


class KptfileReference(_Fields):
    """A resource of the package."""

    apiVersion: Text = Field(None, description="Its apiVersion.")
    kind: str = Field(min_length=1, description="Its kind.")
    name: str = Field(min_length=1, description="Its name.")
    namespace: Text = Field(None, description="Its namespace.")


class KptfileFunction(_Fields):
    """A function of the pipeline: a program and its configuration."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "oneOf": _ONE_PROGRAM,
            "not": {"anyOf": [{"required": [a, b]} for a, b in (_CONFIGS[:2], _CONFIGS[1:], _CONFIGS[::2])]},
        },
    )

    name: Text = Field(None, description="Its name, unique in the list: updates recognise the function by it.")
    image: Text = Field(None, description="The image that it runs.")
    exec: Text = Field(None, description="The program that it runs, instead of an image.")
    tag: Text = Field(None, description="The tag of the image, or a range of versions.")
    configPath: Text = Field(None, description="The file of its functionConfig, in the directory of the Kptfile.")
    configMap: TextMap = Field(None, description="Its functionConfig as keys and values.")
    configRef: KptfileReference | None = Field(None, description="The resource that is its functionConfig.")
    selectors: list[KptfileSelector] | None = Field(None, description="The resources it gets; by default all.")
    exclude: list[KptfileSelector] | None = Field(None, description="Resources that it does not get.")
    when: Text = Field(None, description="A CEL expression; the function runs where it is true.")

    @model_validator(mode="after")
    def _is_runnable(self) -> KptfileFunction:
        if self.image and self.exec:
            raise ValueError("has both image and exec; keep one of them")
        if not self.image and not self.exec:
            raise ValueError("has neither image nor exec; add the one that it runs")
        if self.image and not _IMAGE.fullmatch(str(self.image)):
            raise ValueError("image is not the name of an image: [host[:port]/]path[:tag][@digest], path in lower case")
        configs = [name for name in _CONFIGS if getattr(self, name)]
        if len(configs) > 1:
            raise ValueError(f"has both {' and '.join(configs)}; keep one of them")
        return self


class KptfilePipeline(_Fields):
    """The functions that `kpt fn render` runs."""

    mutators: list[KptfileFunction] | None = Field(None, description="Functions that change resources, in order.")
    validators: list[KptfileFunction] | None = Field(
        None, description="Functions that check resources, after all mutators; their changes are discarded."
    )


class KptfileInventory(_Fields):
    """The inventory of `kpt live`."""

    name: Text = Field(None, description="Its name.")
    namespace: Text = Field(None, description="Its namespace.")
    inventoryID: Text = Field(None, description="Its id in the cluster.")
    labels: TextMap = Field(None, description="Its labels.")
    annotations: TextMap = Field(None, description="Its annotations.")

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        missing = [name for name in ("name", "namespace", "inventoryID") if not getattr(self, name)]
        if 0 < len(missing) < 3:
            raise ValueError(f"has no {' and no '.join(missing)}")
        return self


class KptfileCondition(_Fields):
    """What a program found out about the package."""

    type: Text = Field(None, description="Its type, unique in the list.")
    status: Text = Field(None, description="Whether it is true: True, False or Unknown.")
    reason: Text = Field(None, description="The reason, in one word.")
    message: Text = Field(None, description="The reason, for people.")


class KptfileStep(_Fields):
    """What a function of the pipeline did."""

    name: Text = Field(None, description="Its name.")
    image: Text = Field(None, description="Its image.")
    exec: Text = Field(None, description="Its program.")
    executionError: Text = Field(None, description="Why it could not run.")
    stderr: Text = Field(None, description="What it wrote.")
    exitCode: int | None = Field(None, description="Its exit code.")
    results: list[dict[str, Any]] | None = Field(None, description="Its results.")
    errorResults: list[dict[str, Any]] | None = Field(None, description="Its results that are errors.")
    when: Text = Field(None, description="The expression that was evaluated.")
    skipped: bool | None = Field(None, description="Whether it was skipped for that.")


class KptfileRenderStatus(_Fields):
    """What `kpt fn render` did."""

    mutationSteps: list[KptfileStep] | None = Field(None, description="What the mutators did.")
    validationSteps: list[KptfileStep] | None = Field(None, description="What the validators did.")
    errorSummary: Text = Field(None, description="Why it failed.")


class KptfileStatus(_Fields):
    """What programs reported about the package. Programs write it."""

    conditions: list[KptfileCondition] | None = Field(None, description="The conditions of the package.")
    renderStatus: KptfileRenderStatus | None = Field(None, description="What the last render did.")


class Kptfile(_Fields):
    """A package of kpt: what it follows, what it is, which functions it runs."""

    apiVersion: Literal["kpt.dev/v1"]
    kind: Literal["Kptfile"]
    metadata: KptfileMetadata = Field(description="The name of the package, its labels and annotations.")
    upstream: KptfileUpstream | None = Field(None, description="What the package follows.")
    upstreamLock: KptfileUpstreamLock | None = Field(None, description="What the package was last fetched from.")
    info: KptfileInfo | None = Field(None, description="A description of the package.")
    pipeline: KptfilePipeline | None = Field(None, description="The functions that `kpt fn render` runs.")
    inventory: KptfileInventory | None = Field(None, description="The inventory of `kpt live`.")
    status: KptfileStatus | None = Field(None, description="What programs reported about the package.")


class Vendorfile(DocumentModel):
    """Where the manifests of a directory come from, so that the next update knows its original."""

    kind: Literal["Vendorfile"]
    source: str | None = Field(None, description="Where upstream's manifests come from: a URL, a file, a command.")
    version: str | None = Field(None, description="The version of upstream that was merged last.")
    digest: str = Field(
        pattern="^sha256:[0-9a-f]{64}$", description="The SHA-256 digest of upstream's manifests at that version."
    )
    original: str = Field(
        "Vendorfile.original",
        min_length=1,
        description="The file in this directory with upstream's manifests at that version, as they came.",
    )
