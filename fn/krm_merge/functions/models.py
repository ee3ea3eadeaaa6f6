"""The models of the functionConfigs: the contract with users, the source of their JSON schemas."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from krm_merge.krm import DocumentModel, StrictModel
from krm_merge.merge import OnConflict
from krm_merge.policy import ListKeysField, RulesField


class _Choices(StrictModel):
    onConflict: OnConflict = Field("upstream", description="Which side wins if both changed a value.")
    functionIdentity: Literal["document", "smart"] = Field(
        "document", description="How to recognise functions of a pipeline that have no names."
    )


class ConfigMapData(_Choices):
    """`data` of a ConfigMap given as functionConfig, as `kpt fn eval -- key=value` makes it."""

    function: Literal["MergePackage"] = Field("MergePackage", description="The function to run.")
    original: str | None = Field(None, description="The package as last fetched, as YAML text.")
    upstream: str | None = Field(None, description="The updated package, as YAML text.")


class GitLockModel(StrictModel):
    """A commit of a package in a git repository."""

    repo: str = Field(description="The address of the repository.")
    directory: str = Field(description="The directory of the package in the repository.")
    ref: str = Field(description="The tag, branch or commit that the package follows now.")
    commit: str = Field(description="The commit that `upstream` is.")


class LockModel(StrictModel):
    """Where `upstream` is, as in the Kptfile's `upstreamLock`."""

    type: Literal["git"] = "git"
    git: GitLockModel


class MergePackage(DocumentModel, _Choices):
    """Three-way merge of a package: original and upstream from here, local from the items."""

    kind: Literal["MergePackage"]
    original: str | list[dict[str, Any]] | None = Field(
        None, description="The package as last fetched: YAML text of one or more documents, or a list of objects."
    )
    upstream: str | list[dict[str, Any]] | None = Field(None, description="The updated package, in the same forms.")
    upstreamLock: LockModel | None = Field(
        None, description="Where `upstream` is: written into the Kptfile after the merge, with `upstream.git.ref`."
    )
    rules: RulesField
    listKeys: ListKeysField


class PatchTarget(StrictModel):
    """Selects resources. Fields are RE2 expressions that match as a whole; those empty or left out match everything."""

    group: str | None = Field(None, description="API group, e.g. apps; `^$` for the core group.")
    version: str | None = Field(None, description="API version, e.g. v1.")
    kind: str | None = Field(None, description="Kind.")
    name: str | None = Field(None, description="Name.")
    namespace: str | None = Field(None, description="Namespace.")
    labelSelector: str | None = Field(None, description="Label selector, e.g. `app=web,tier!=db,env in (a, b),!old`.")
    annotationSelector: str | None = Field(None, description="Annotation selector, in the same form.")


class PatchOptions(StrictModel):
    """The parts of a resource's identity that a patch may change."""

    allowNameChange: bool = Field(False, description="Whether the patch may change name and namespace.")
    allowKindChange: bool = Field(False, description="Whether the patch may change apiVersion and kind.")


class PatchModel(StrictModel):
    """One patch, or several strategic merge patches in one text."""

    target: PatchTarget | None = Field(
        None, description="What it patches; a strategic merge patch may name its object instead."
    )
    patch: str | None = Field(None, description="The patch as YAML or JSON text.")
    path: str | None = Field(None, description="Instead of `patch`: the file in the package that holds the patch.")
    type: Literal["strategic", "merge", "json"] | None = Field(
        None, description="strategic merge patch (the default for a mapping), RFC 7386, or RFC 6902 (for a list)."
    )
    options: PatchOptions = PatchOptions(allowNameChange=False, allowKindChange=False)


class _PatchChoices(StrictModel):
    listOrder: Literal["document", "kubernetes"] = Field(
        "document", description="How strategic merge patches order lists: as specified, or as kubectl does."
    )
    mergeKeys: Literal["multi", "single"] = Field(
        "multi", description="Whether all key fields identify an element of a list, or only the one that kubectl knows."
    )


class PatchConfigMapData(_PatchChoices):
    """`data` of a ConfigMap given as functionConfig."""

    function: Literal["PatchResources"] = "PatchResources"
    patch: str = Field(description="Strategic merge patches that name their objects, as YAML text.")


class PatchResources(DocumentModel, _PatchChoices):
    """Patches the resources of a package: strategic merge patches, JSON merge patches and JSON patches."""

    kind: Literal["PatchResources"]
    patches: list[PatchModel] = Field(min_length=1, description="The patches, in the order in which they are applied.")
    listKeys: ListKeysField


class DigestModel(StrictModel):
    """Where digests are replaced."""

    files: list[str] = Field(
        default_factory=list, description="Globs of files to search, from the root of the repository."
    )
    exclude: list[str] = Field(default_factory=list, description="Globs of files that are not searched.")


class _ComponentChoices(StrictModel):
    mode: Literal["validate", "configure", "plan", "simulate"] = Field(
        "plan",
        description="Check the graph; write the settings with which today's Konflux follows it; plan pull requests; "
        "or also simulate the snapshots, tests and releases that follow.",
    )


class ComponentsConfigMapData(_ComponentChoices):
    """`data` of a ConfigMap given as functionConfig."""

    function: Literal["PlanComponentUpdates"] = "PlanComponentUpdates"
    removed: str = Field("", description="Names of deleted Components, separated by commas.")


class PlanComponentUpdates(DocumentModel, _ComponentChoices):
    """Plans the updates of components that depend on each other."""

    kind: Literal["PlanComponentUpdates"]
    separators: list[Literal["/", "@"]] = Field(
        default=["/"], description="What separates the group from the rest of a source branch's name."
    )
    ignoredPrefixes: list[str] = Field(
        default_factory=lambda: ["renovate", "dependabot"],
        description="Prefixes of branches that each form a group, such as those of other programs.",
    )
    digest: DigestModel = Field(default_factory=lambda: DigestModel.model_validate({}))
    removed: list[str] = Field(default_factory=list, description="Names of deleted Components.")


class OperationModel(StrictModel):
    """One operation (RFC 6902)."""

    op: Literal["add", "remove", "replace", "move", "copy", "test"] = Field(description="What to do.")
    path: str = Field(
        description="JSON pointer; `[name=web]` instead of an index selects the element of a list with this field."
    )
    source: str | None = Field(None, alias="from", description="Where move and copy take the value from.")
    value: Any = Field(None, description="The value of add, replace and test.")


class InlinePatchModel(StrictModel):
    """A JSON patch for the resources that its target selects."""

    target: PatchTarget | None = Field(None, description="The resources to change, by default all.")
    onTestFailure: Literal["skip", "error"] = Field(
        "skip", description="Whether a failed `test` skips the patch for that resource, or is an error."
    )
    ops: list[OperationModel] = Field(min_length=1, description="The operations, in their order.")


class ExecModel(StrictModel):
    """A program in the plugin directory of the image."""

    file: str = Field(description="Its file name, without a path.")
    timeoutSeconds: float = Field(10, gt=0, le=300, description="The time limit for one resource.")


class PluginModel(StrictModel):
    """A plugin: give exactly one of builtin, exec and patches."""

    name: str | None = Field(None, description="Its name in priorities and results.")
    builtin: Literal["kubernetes"] | None = Field(None, description="The built-in KubernetesPlugin.")
    exec: ExecModel | None = Field(None, description="A program in the plugin directory of the image.")
    patches: list[InlinePatchModel] | None = Field(None, description="Patches without code.")


class ConflictsModel(StrictModel):
    """How conflicts between plugins are reported."""

    severity: Literal["info", "warning", "error"] = Field(
        "warning", description="The severity of a change that is ignored; on an error no file is written."
    )


class WhiteoutModel(StrictModel):
    """What happens to a resource that a plugin whites out."""

    action: Literal["annotate", "drop"] = Field(
        "annotate", description="Mark it local-config, so that it is not applied; or remove it."
    )


class TransformResources(DocumentModel):
    """Runs plugins over every resource and settles their conflicts by priorities."""

    kind: Literal["TransformResources"]
    priorities: list[str] = Field(
        default_factory=list,
        description="Names of plugins, the most important first; the others follow in the order of declaration.",
    )
    skipPlugins: list[str] = Field(default_factory=list, description="Names of plugins not to run.")
    options: dict[str, str] = Field(default_factory=dict, description="Options for every plugin.")
    plugins: list[PluginModel] = Field(min_length=1, description="The plugins to run.")
    conflicts: ConflictsModel = ConflictsModel(severity="warning")
    whiteout: WhiteoutModel = WhiteoutModel(action="annotate")
    listKeys: ListKeysField
