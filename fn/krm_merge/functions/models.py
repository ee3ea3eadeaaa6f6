"""The functionConfig kinds as pydantic models: the contract with users, the source of the JSON schemas."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from krm_merge.krm.fieldpath import parse_path
from krm_merge.krm.identity import Identity
from krm_merge.merge.decisions.nature import Nature
from krm_merge.merge.decisions.resolution import Choice
from krm_merge.merge.decisions.secrecy import SECRET, SECRET_LIST

OnConflict = Literal["upstream", "local", "fail"]


def _checked_path(text: str) -> str:
    parse_path(text)
    return text


def _checked_path_or_none(text: str) -> str:
    return _checked_path(text) if text else text


Path = Annotated[str, AfterValidator(_checked_path)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class RuleModel(_Strict):
    """Narrows the policy to part of the package. Fields that are left out match everything; the first match wins."""

    group: str | None = Field(None, description="API group of the resource, e.g. apps; empty for the core group.")
    kind: str | None = Field(None, description="Kind of the resource.")
    namespace: str | None = Field(None, description="Namespace of the resource.")
    name: str | None = Field(None, description="Name of the resource.")
    path: Path | None = Field(None, description="Field path; covers all below it. `*` matches one step.")
    onConflict: OnConflict | None = Field(None, description="Who wins where both sides changed a value.")
    onDelete: Literal["upstream", "local"] | None = Field(
        None, description="Whose decision stands where one side deleted what the other changed."
    )


class ListKeysModel(_Strict):
    """Merge keys of a list that the schema does not know."""

    apiVersion: str = Field(description="apiVersion of the resources that hold the list.")
    kind: str = Field(description="Kind of the resources that hold the list.")
    path: Path = Field(description="Path of the list; steps into list elements are left out: `spec.groups.parts`.")
    keys: list[str] = Field(min_length=1, description="Fields that together identify an element.")


class _Choices(_Strict):
    onConflict: OnConflict = Field("upstream", description="Who wins where both sides changed a value.")
    functionIdentity: Literal["document", "smart"] = Field(
        "document", description="How functions of a pipeline without names are recognised."
    )


class ConfigMapData(_Choices):
    """`data` of a ConfigMap given as functionConfig, as `kpt fn eval -- key=value` makes it."""

    function: Literal["MergePackage"] = Field("MergePackage", description="The function to run.")
    original: str | None = Field(None, description="The package as last fetched, as YAML text.")
    upstream: str | None = Field(None, description="The updated package, as YAML text.")


class MergePackage(_Choices):
    """Three-way merge of a package: original and upstream from here, local from the items."""

    apiVersion: Literal["fn.kpt.dev/v1alpha1"]
    kind: Literal["MergePackage"]
    metadata: dict[str, Any] = Field(default_factory=dict)
    original: str | list[dict[str, Any]] | None = Field(
        None, description="The package as last fetched: YAML text of one or more documents, or a list of objects."
    )
    upstream: str | list[dict[str, Any]] | None = Field(None, description="The updated package, in the same forms.")
    rules: list[RuleModel] = Field(
        default_factory=list, description="Exceptions from the policy; the first match wins."
    )
    listKeys: list[ListKeysModel] = Field(default_factory=list, description="Merge keys that the schema does not know.")


class MergeRules(BaseModel):
    """The exceptions of a merge in a file of their own, or in a MergePackage: its other fields do not count."""

    model_config = ConfigDict(strict=True)

    rules: list[RuleModel] = Field(
        default_factory=list, description="Exceptions from the policy; the first match wins."
    )
    listKeys: list[ListKeysModel] = Field(default_factory=list, description="Merge keys that the schema does not know.")


class ResolvedResource(_Strict):
    """The resource of a resolution."""

    apiVersion: str = Field(description="Its apiVersion; of that, the group counts.")
    kind: str = Field(description="Its kind.")
    namespace: str = Field("", description="Its namespace, empty where it has none.")
    name: str = Field(description="Its name.")

    @property
    def identity(self) -> Identity:
        """Group, kind, namespace and name."""
        return Identity(self.apiVersion.rpartition("/")[0], self.kind, self.namespace, self.name)


class ResolutionModel(_Strict):
    """What was chosen for one conflict. Without `resource` it is for every place with this fingerprint."""

    resource: ResolvedResource | None = Field(None, description="The resource that the conflict is in.")
    path: Annotated[str, AfterValidator(_checked_path_or_none)] = Field(
        "", description="The path of the conflict; empty for a resource or file as a whole."
    )
    nature: Nature = Field(description="The nature of the conflict, as a report has it.")
    fingerprint: str = Field(pattern="^[0-9a-f]{64}$", description="The fingerprint, as a report has it.")
    choice: Choice = Field(description="What was chosen.")
    value: Any = Field(None, description="The value, where the choice is `value`.")
    reason: str | None = Field(None, description="Why.")
    by: str | None = Field(None, description="Who chose.")
    at: str | None = Field(None, description="When.")

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.choice == "value" and "value" not in self.model_fields_set:
            raise ValueError("the choice is value, and there is none; add the field value")
        if self.choice != "value" and "value" in self.model_fields_set:
            raise ValueError(f"a value is given, and the choice is {self.choice}; take one of them out")
        if self.choice == "value" and self.resource is not None and self.resource.kind in (SECRET, SECRET_LIST):
            raise ValueError("values of Secrets are not recorded; choose upstream or local")
        return self


class MergePolicy(_Strict):
    """How a package wants its conflicts settled; it travels with the package."""

    apiVersion: Literal["fn.kpt.dev/v1alpha1"]
    kind: Literal["MergePolicy"]
    metadata: dict[str, Any] = Field(default_factory=dict)
    onConflict: OnConflict | None = Field(
        None, description="Who wins where both sides changed a value, unless the one who merges says otherwise."
    )
    rules: list[RuleModel] = Field(
        default_factory=list, description="Exceptions from the policy; the first match wins."
    )
    resolutions: list[ResolutionModel] = Field(
        default_factory=list, description="Choices on single conflicts. They come before all rules, and never merge."
    )


class PatchTarget(_Strict):
    """Selects resources. Fields are RE2 expressions that match as a whole; those empty or left out match everything."""

    group: str | None = Field(None, description="API group, e.g. apps; `^$` for the core group.")
    version: str | None = Field(None, description="API version, e.g. v1.")
    kind: str | None = Field(None, description="Kind.")
    name: str | None = Field(None, description="Name.")
    namespace: str | None = Field(None, description="Namespace.")
    labelSelector: str | None = Field(None, description="Label selector, e.g. `app=web,tier!=db,env in (a, b),!old`.")
    annotationSelector: str | None = Field(None, description="The same for annotations.")


class PatchOptions(_Strict):
    """What a patch may change of a resource's identity."""

    allowNameChange: bool = Field(False, description="Whether the patch may change name and namespace.")
    allowKindChange: bool = Field(False, description="Whether the patch may change apiVersion and kind.")


class PatchModel(_Strict):
    """One patch, or several strategic merge patches in one text."""

    target: PatchTarget | None = Field(
        None, description="What it patches; a strategic merge patch may name its object instead."
    )
    patch: str | None = Field(None, description="The patch as YAML or JSON text.")
    path: str | None = Field(
        None, description="Instead of `patch`: the file of an item of the package that is the patch."
    )
    type: Literal["strategic", "merge", "json"] | None = Field(
        None, description="strategic merge patch (the default for a mapping), RFC 7386, or RFC 6902 (for a list)."
    )
    options: PatchOptions = PatchOptions(allowNameChange=False, allowKindChange=False)


class _PatchChoices(_Strict):
    listOrder: Literal["document", "kubernetes"] = Field(
        "document", description="How strategic merge patches order lists: as the specification says, or as kubectl."
    )
    mergeKeys: Literal["multi", "single"] = Field(
        "multi", description="Whether all key fields identify an element of a list, or the one that kubectl knows."
    )


class PatchConfigMapData(_PatchChoices):
    """`data` of a ConfigMap given as functionConfig."""

    function: Literal["PatchResources"]
    patch: str = Field(description="Strategic merge patches that name their objects, as YAML text.")


class PatchResources(_PatchChoices):
    """Patches the resources of a package: strategic merge patches, JSON merge patches and JSON patches."""

    apiVersion: Literal["fn.kpt.dev/v1alpha1"]
    kind: Literal["PatchResources"]
    metadata: dict[str, Any] = Field(default_factory=dict)
    patches: list[PatchModel] = Field(min_length=1, description="The patches, in the order in which they are applied.")
    listKeys: list[ListKeysModel] = Field(default_factory=list, description="Merge keys that the schema does not know.")


class OperationModel(_Strict):
    """One operation (RFC 6902)."""

    op: Literal["add", "remove", "replace", "move", "copy", "test"] = Field(description="What to do.")
    path: str = Field(
        description="JSON pointer; `[name=web]` instead of an index selects the element of a list with this field."
    )
    source: str | None = Field(None, alias="from", description="Where move and copy take the value from.")
    value: Any = Field(None, description="The value of add, replace and test.")


class InlinePatchModel(_Strict):
    """A JSON patch for the resources that its target selects."""

    target: PatchTarget | None = Field(None, description="What it is for; without it, every resource.")
    onTestFailure: Literal["skip", "error"] = Field(
        "skip", description="Whether a resource for which a `test` fails is left as it is, or is an error."
    )
    ops: list[OperationModel] = Field(min_length=1, description="The operations, in their order.")


class ExecModel(_Strict):
    """A program in the plugin directory of the image."""

    file: str = Field(description="Its file name, without a path.")
    protocol: Literal["crane/v1", "jsonl/v1"] | None = Field(
        None, description="A process for each resource, or one for all; without it, what the plugin says it speaks."
    )
    timeoutSeconds: float = Field(10, gt=0, le=300, description="How long it may take for one resource.")
    memoryMiB: int = Field(1024, ge=16, le=65536, description="How much memory it may use, with all that it starts.")
    processes: int = Field(64, ge=1, le=4096, description="How many processes it may be, itself counted.")


class PluginModel(_Strict):
    """A plugin: give exactly one of builtin, exec, entryPoint and patches."""

    name: str | None = Field(None, description="How priorities and results name it.")
    builtin: Literal["kubernetes"] | None = Field(None, description="The built-in KubernetesPlugin.")
    exec: ExecModel | None = Field(None, description="A program in the plugin directory of the image.")
    entryPoint: str | None = Field(
        None, description="An entry point of an installed Python package, in the group krm_merge.transform_plugins."
    )
    patches: list[InlinePatchModel] | None = Field(None, description="Patches without code.")
    options: dict[str, str] = Field(default_factory=dict, description="Options for this plugin alone.")


class ConflictsModel(_Strict):
    """How conflicts of plugins are found and told."""

    detect: Literal["effect", "path"] = Field(
        "effect", description="By what the operations do, or as crane did, by the text of their paths."
    )
    keep: Literal["unit", "operation", "plugin"] = Field(
        "unit", description="What is lost with an operation: what builds on it, nothing more, or all of the plugin's."
    )
    onConflict: Literal["info", "warning", "error"] = Field(
        "warning", description="The severity of a change that is ignored; on an error no file is written."
    )


class WhiteoutModel(_Strict):
    """What becomes of a resource that a plugin wants gone."""

    action: Literal["annotate", "drop", "error"] = Field(
        "annotate", description="Mark it local-config, so that it is not applied; remove it; or refuse."
    )


class TransformResources(_Strict):
    """Runs plugins over every resource and settles their conflicts by priorities."""

    apiVersion: Literal["fn.kpt.dev/v1alpha1"]
    kind: Literal["TransformResources"]
    metadata: dict[str, Any] = Field(default_factory=dict)
    priorities: list[str] = Field(
        default_factory=list,
        description="Names of plugins, the most important first; all others come after them, as they are declared.",
    )
    skipPlugins: list[str] = Field(default_factory=list, description="Names of plugins that are not run.")
    options: dict[str, str] = Field(default_factory=dict, description="Options for every plugin.")
    plugins: list[PluginModel] = Field(min_length=1, description="The plugins; nothing else runs.")
    conflicts: ConflictsModel = ConflictsModel(detect="effect", keep="unit", onConflict="warning")
    whiteout: WhiteoutModel = WhiteoutModel(action="annotate")
    listKeys: list[ListKeysModel] = Field(default_factory=list, description="Merge keys that the schema does not know.")


class TransformConfigMapData(_Strict):
    """`data` of a ConfigMap given as functionConfig, with the names of crane's flags."""

    function: Literal["TransformResources"]
    plugins: str | None = Field(
        None,
        description="Plugins to run, with commas between them: KubernetesPlugin, files of the plugin directory, entry "
        "points. Without it, KubernetesPlugin and all in the plugin directory.",
    )
    priorities: str = Field("", alias="plugin-priorities", description="Names of plugins, the most important first.")
    skipped: str = Field("", alias="skip-plugins", description="Names of plugins that are not run.")
    options: str = Field("", alias="optional-flags", description="Options for every plugin, as a JSON map of texts.")


class DigestModel(_Strict):
    """Which digests are replaced, and where."""

    match: Literal["known", "any"] = Field(
        "known", description="Only digests that are known to be of the component, or any of its image."
    )
    tag: Literal["keep"] = Field("keep", description="What becomes of a tag before the digest.")
    files: list[str] = Field(
        default_factory=list, description="Globs of files to look at, from the root of the repository."
    )
    exclude: list[str] = Field(default_factory=list, description="Globs of files that are left alone.")
    multiDigestFile: Literal["refuse", "replace"] = Field(
        "refuse", description="What becomes of a file with several digests of one image, such as a catalog."
    )


class EmitModel(_Strict):
    """What `configure` writes."""

    buildNudgesRef: bool = Field(True, description="`build-nudges-ref` on dependencies.")
    nudgeConfig: bool = Field(False, description="A NudgeConfig for each namespace; one that is there is kept up.")
    nudgeMode: Literal["immediate", "validated"] = Field(
        "immediate", description="When Konflux nudges, of edges that `configure` adds to a NudgeConfig."
    )
    contexts: bool = Field(True, description="`spec.context` of Repositories, contexts of IntegrationTestScenarios.")
    releasePlans: bool = Field(True, description="The annotation of ReleasePlans that keeps dependencies from release.")
    celGuards: bool = Field(True, description="on-cel-expression of the PipelineRuns in .tekton.")


class _ComponentChoices(_Strict):
    mode: Literal["validate", "configure", "plan", "simulate"] = Field(
        "plan",
        description="Check the graph; write what today's Konflux obeys; plan pull requests; or play all that follows.",
    )
    suffix: Literal["component", "repository"] = Field("component", description="What ends the names of our branches.")
    onClosed: Literal["revert", "keep"] = Field(
        "revert", description="What becomes of the digest of a pull request that is closed unmerged."
    )


class ComponentsConfigMapData(_ComponentChoices):
    """`data` of a ConfigMap given as functionConfig."""

    function: Literal["PlanComponentUpdates"]
    removed: str = Field("", description="Names of Components that are deleted, with commas between them.")


class PlanComponentUpdates(_ComponentChoices):
    """Plans the updates of components that depend on each other."""

    apiVersion: Literal["fn.kpt.dev/v1alpha1"]
    kind: Literal["PlanComponentUpdates"]
    metadata: dict[str, Any] = Field(default_factory=dict)
    separators: list[Literal["/", "@"]] = Field(
        default=["/"], description="What ends the group in the name of a source branch."
    )
    ignoredPrefixes: list[str] = Field(
        default_factory=lambda: ["renovate", "dependabot"],
        description="Branches below these are a group each.",
    )
    emit: EmitModel = Field(default_factory=lambda: EmitModel.model_validate({}))
    digest: DigestModel = Field(default_factory=lambda: DigestModel.model_validate({}))
    removed: list[str] = Field(default_factory=list, description="Names of Components that are deleted.")
    applySnapshots: bool = Field(
        False, description="Whether Snapshots and Releases of `simulate` may be applied to a cluster."
    )
