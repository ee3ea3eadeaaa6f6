"""Plugins that each say what shall become of a resource, and who of them wins by the user's priorities.

Values in, decisions and values out. Edges: `process` runs programs, `entry_points` loads installed packages.
"""

from krm_merge.text.reading.values import Object
from krm_merge.transform.engine.settle import Agreed, Ignored, Settlement, Skipped
from krm_merge.transform.engine.units import Keep
from krm_merge.transform.kubernetes.plugin import KubernetesPlugin
from krm_merge.transform.plugins.serve import serve
from krm_merge.transform.protocol.operation import Operation, OperationError, PluginOperation
from krm_merge.transform.protocol.plugin import Metadata, OptionalField, Options, Patch, Plugin, PluginError, Response
from krm_merge.transform.runner import Detect, Failure, NewResource, Runner, RunOutcome, Whiteout

__all__ = [
    "Agreed",
    "Detect",
    "Failure",
    "Ignored",
    "Keep",
    "KubernetesPlugin",
    "Metadata",
    "NewResource",
    "Object",
    "Operation",
    "OperationError",
    "OptionalField",
    "Options",
    "Patch",
    "Plugin",
    "PluginError",
    "PluginOperation",
    "Response",
    "RunOutcome",
    "Runner",
    "Settlement",
    "Skipped",
    "Whiteout",
    "serve",
]
