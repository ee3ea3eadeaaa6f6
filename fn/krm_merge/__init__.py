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

from typing import TYPE_CHECKING

from krm_merge.startup import lazy_face

if TYPE_CHECKING:
    from krm_merge.errors import KrmMergeError
    from krm_merge.merging import MergedPackage, merge_packages
    from krm_merge.report.record import DecisionRecord

__version__ = "0.1.0"

__all__ = [
    "DecisionRecord",
    "KrmMergeError",
    "MergedPackage",
    "merge_packages",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "krm_merge.errors": "KrmMergeError",
        "krm_merge.merging": "MergedPackage merge_packages",
        "krm_merge.report.record": "DecisionRecord",
    },
)
