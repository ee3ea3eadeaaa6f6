"""Runs plugins that transform resources, and settles their conflicts by the user's priorities.

Values in, decisions and values out. The edge is `plugins.process`, which runs programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_merge.startup import lazy_interface

if TYPE_CHECKING:
    from krm_merge.text import Object
    from krm_merge.transform.engine.settle import Agreed, Ignored, Settlement, Skipped
    from krm_merge.transform.kubernetes import KubernetesPlugin
    from krm_merge.transform.plugins.serve import serve
    from krm_merge.transform.protocol import (
        Metadata,
        Operation,
        OperationError,
        OptionalField,
        Options,
        Patch,
        Plugin,
        PluginError,
        PluginOperation,
        Response,
    )
    from krm_merge.transform.runner import Failure, Runner, RunOutcome, Whiteout

__all__ = [
    "Agreed",
    "Failure",
    "Ignored",
    "KubernetesPlugin",
    "Metadata",
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

__getattr__, __dir__ = lazy_interface(
    __name__,
    {
        "engine.settle": "Agreed Ignored Settlement Skipped",
        "kubernetes": "KubernetesPlugin",
        "plugins.serve": "serve",
        "protocol": "Metadata Object Operation OperationError OptionalField Options Patch Plugin "
        "PluginError PluginOperation Response",
        "runner": "Failure RunOutcome Runner Whiteout",
    },
)
