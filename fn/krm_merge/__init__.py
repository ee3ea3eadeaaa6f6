r"""krm-merge: merges what several people and programs changed in Kubernetes configuration.

>>> import krm_merge
>>> def package(replicas):
...     text = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: {replicas}\n"
...     return {"web.yaml": text.encode()}
>>> merged = krm_merge.merge_packages(package(1), package(3), package(5), on_conflict="local")
>>> print(merged.files["web.yaml"].decode().splitlines()[-1])
  replicas: 5
>>> [(record.path, record.status, record.values["upstream"]) for record in merged.records]
[('spec.replicas', 'settled', 3)]
"""

from __future__ import annotations

# Importing typing for this constant would be the slowest import before signals are handled.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from krm_merge.errors import KrmMergeError
    from krm_merge.report import DecisionRecord
    from krm_merge.usecases import MergedPackage, merge_packages

__version__ = "1.0.0"

__all__ = ["DecisionRecord", "KrmMergeError", "MergedPackage", "merge_packages"]

_MODULES = {
    "DecisionRecord": "krm_merge.report.record",
    "KrmMergeError": "krm_merge.errors",
    "MergedPackage": "krm_merge.usecases",
    "merge_packages": "krm_merge.usecases",
}


def __getattr__(name: str) -> object:
    # The function runs at every render and needs none of these.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
