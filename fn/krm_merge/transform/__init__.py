"""Plugins that each say what shall become of a resource, and who of them wins by the user's priorities.

Values in, decisions and values out. Edges: `process` runs programs, `entry_points` loads installed packages.
"""

from krm_merge.transform.kubernetes import KubernetesPlugin
from krm_merge.transform.operation import Operation, OperationError, PluginOperation
from krm_merge.transform.plugin import Metadata, Object, OptionalField, Options, Patch, Plugin, PluginError, Response
from krm_merge.transform.runner import Detect, Failure, NewResource, Outcome, Runner, Whiteout
from krm_merge.transform.serve import serve
from krm_merge.transform.settle import Agreed, Ignored, Settlement, Skipped
from krm_merge.transform.units import Keep

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
    "Outcome",
    "Patch",
    "Plugin",
    "PluginError",
    "PluginOperation",
    "Response",
    "Runner",
    "Settlement",
    "Skipped",
    "Whiteout",
    "serve",
]
