"""Conditions on a merged Kptfile (rule K3)."""

from __future__ import annotations

from collections import Counter

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.merge.values.identity import read_functions, steps_of
from krm_merge.schema.kptfile import FUNCTION_LISTS
from krm_merge.startup import frozen
from krm_merge.text.reading.nodes import MappingNode, Node, SequenceNode, resolved


@frozen
class KptfileFault:
    """Something that kpt would refuse in a Kptfile. `function` names it, whatever its position."""

    kind: str
    path: FieldPath
    function: str

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for the same fault in another version of the Kptfile."""
        return (self.kind, self.path[:2], self.function)


def faults(root: MappingNode) -> list[KptfileFault]:
    """The faults of a Kptfile's pipeline."""
    faults_of_pipeline: list[KptfileFault] = []
    for path in FUNCTION_LISTS:
        read = read_functions(functions_at(root, path))
        names = Counter(function.name for function in read if function.name)
        for name, count in names.items():
            if count > 1:
                faults_of_pipeline.append(KptfileFault(f"has a name that {count} functions have", path, name))
        for function, step in zip(read, steps_of(read), strict=True):
            at = (*path, step)
            node = function.node
            if not isinstance(node, MappingNode):
                faults_of_pipeline.append(KptfileFault("is not a mapping", at, function.label))
                continue
            if not function.image and not function.exec:
                faults_of_pipeline.append(KptfileFault("has neither image nor exec", at, function.label))
            if function.image and function.exec:
                faults_of_pipeline.append(KptfileFault("has both image and exec", at, function.label))
            if node.get("configPath") is not None and node.get("configMap") is not None:
                faults_of_pipeline.append(KptfileFault("has both configPath and configMap", at, function.label))
    return faults_of_pipeline


def functions_at(root: MappingNode, path: FieldPath) -> list[Node]:
    """The functions in a list of the pipeline; none where there is no such list."""
    node: Node | None = root
    for name in path:
        value = node.get(name) if isinstance(node, MappingNode) and isinstance(name, str) else None
        node = None if value is None else resolved(value)
    return list(node.items) if isinstance(node, SequenceNode) else []
