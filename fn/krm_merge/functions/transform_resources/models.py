"""The models of TransformResources: the contract with users, the source of the JSON schema."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from krm_merge.functions.patch_resources.models import PatchTarget
from krm_merge.krm.validation import StrictModel
from krm_merge.policy.models import ListKeysModel


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
        "skip", description="Whether the patch is skipped for a resource where a `test` fails, or that is an error."
    )
    ops: list[OperationModel] = Field(min_length=1, description="The operations, in their order.")


class ExecModel(StrictModel):
    """A program in the plugin directory of the image."""

    file: str = Field(description="Its file name, without a path.")
    protocol: Literal["crane/v1", "jsonl/v1"] | None = Field(
        None,
        description="A process for each resource (crane/v1), or one for all (jsonl/v1); by default what the plugin's "
        "metadata names.",
    )
    timeoutSeconds: float = Field(10, gt=0, le=300, description="The time limit for one resource.")
    memoryMiB: int = Field(
        1024, ge=16, le=65536, description="The memory limit, for it and all processes that it starts."
    )
    processes: int = Field(64, ge=1, le=4096, description="The limit of its processes, including itself.")


class PluginModel(StrictModel):
    """A plugin: give exactly one of builtin, exec, entryPoint and patches."""

    name: str | None = Field(None, description="How priorities and results name it.")
    builtin: Literal["kubernetes"] | None = Field(None, description="The built-in KubernetesPlugin.")
    exec: ExecModel | None = Field(None, description="A program in the plugin directory of the image.")
    entryPoint: str | None = Field(
        None, description="An entry point of an installed Python package, in the group krm_merge.transform_plugins."
    )
    patches: list[InlinePatchModel] | None = Field(None, description="Patches without code.")
    options: dict[str, str] = Field(default_factory=dict, description="Options for this plugin alone.")


class ConflictsModel(StrictModel):
    """How conflicts between plugins are detected and reported."""

    detect: Literal["effect", "path"] = Field(
        "effect", description="By the effects of operations or, as in crane, by the text of their paths."
    )
    keep: Literal["unit", "operation", "plugin"] = Field(
        "unit",
        description="What a plugin loses with an operation: the operations that depend on it, only this one, or all.",
    )
    onConflict: Literal["info", "warning", "error"] = Field(
        "warning", description="The severity of a change that is ignored; on an error no file is written."
    )


class WhiteoutModel(StrictModel):
    """What happens to a resource that a plugin whites out."""

    action: Literal["annotate", "drop", "error"] = Field(
        "annotate", description="Mark it local-config, so that it is not applied; remove it; or report an error."
    )


class TransformResources(StrictModel):
    """Runs plugins over every resource and settles their conflicts by priorities."""

    apiVersion: Literal["fn.kpt.dev/v1alpha1"]
    kind: Literal["TransformResources"]
    metadata: dict[str, Any] = Field(default_factory=dict)
    priorities: list[str] = Field(
        default_factory=list,
        description="Names of plugins, the most important first; the others follow in the order of declaration.",
    )
    skipPlugins: list[str] = Field(default_factory=list, description="Names of plugins that are not run.")
    options: dict[str, str] = Field(default_factory=dict, description="Options for every plugin.")
    plugins: list[PluginModel] = Field(min_length=1, description="The plugins to run.")
    conflicts: ConflictsModel = ConflictsModel(detect="effect", keep="unit", onConflict="warning")
    whiteout: WhiteoutModel = WhiteoutModel(action="annotate")
    listKeys: list[ListKeysModel] = Field(default_factory=list, description="Merge keys that the schema does not know.")


class TransformConfigMapData(StrictModel):
    """`data` of a ConfigMap given as functionConfig, with the names of crane's flags."""

    function: Literal["TransformResources"] = "TransformResources"
    plugins: str | None = Field(
        None,
        description="Plugins to run, separated by commas: KubernetesPlugin, files of the plugin directory, entry "
        "points. By default KubernetesPlugin and everything in the plugin directory.",
    )
    priorities: str = Field("", alias="plugin-priorities", description="Names of plugins, the most important first.")
    skipped: str = Field("", alias="skip-plugins", description="Names of plugins that are not run.")
    options: str = Field("", alias="optional-flags", description="Options for every plugin, as a JSON map of texts.")
