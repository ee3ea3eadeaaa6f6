"""`kind: PatchResources`: patches the resources of a package."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from krm_merge.functions.patch_jobs import Job, Jobs, read_jobs
from krm_merge.krm.fieldpath import format_path
from krm_merge.krm.resource import Resource, ResourceError
from krm_merge.krm.resource_list import ResourceList
from krm_merge.merge.member import Member, flaw_of, subject_of
from krm_merge.merge.schemas import CRD, Schemas
from krm_merge.patch import Moved, PatchError, SchemaShape
from krm_merge.patch.selector import Identity, Target
from krm_merge.patch.values import Object, same
from krm_merge.schema import WithListKeys
from krm_merge.schema.model import KeyedList
from krm_merge.text.nodes import Mapping, TextError
from krm_merge.text.values import Value, to_value

_SHOWN = 5


def patch_resources(resource_list: ResourceList) -> None:
    """Applies the patches in their order; reports for each what it matched and changed."""
    config = read_jobs(resource_list)
    if resource_list.results.errors:
        return
    _Run(resource_list, config).run()
    _report(resource_list, config.jobs)


@dataclass(slots=True)
class _Run:
    resource_list: ResourceList
    config: Jobs
    _shapes: dict[tuple[str, str], SchemaShape] = field(default_factory=dict)
    _schemas: Schemas | None = None

    def run(self) -> None:
        kept = []
        for item in self.resource_list.items:
            jobs = [job for job in self.config.jobs if job.target.may_match_kind(self._kind(item))]
            if id(item) in self.config.sources or not jobs or self._patched(item, jobs):
                kept.append(item)
        if not self.resource_list.results.errors:
            self.resource_list.items[:] = kept

    @staticmethod
    def _kind(item: Resource) -> str:
        try:
            return item.kind
        except ResourceError:
            return ""  # told if it has to be read

    def _patched(self, item: Resource, jobs: list[Job]) -> bool:
        """Applies the patches that are for an item; whether it stays."""
        results = self.resource_list.results
        try:
            root = item.root
        except ResourceError as error:
            results.error(str(error), file=error.file)
            return True
        if flaw := flaw_of(root):
            results.error(f"{item.file or 'an item'}: {flaw}", file=item.file)
            return True
        before = to_value(root)
        assert isinstance(before, dict)
        now, shape = before, None
        for job in jobs:
            if not _matches(job.target, now):
                continue
            job.matched += 1
            if shape is None:
                shape = self._shape(item)
            try:
                after = self._applied(job, now, shape, item)
            except PatchError as error:
                path = format_path(error.path) or None
                results.error(
                    f"{item.ref}: {job.label}: {error}",
                    resource=item.ref,
                    file=item.file,
                    file_index=item.index,
                    path=path,
                )
                return True
            if after is None:
                job.changed.append(str(item.ref))
                results.info(f"{item.ref}: removed by {job.label}", resource=item.ref, file=item.file)
                return False
            if after is not now and not same(after, now):
                job.changed.append(str(item.ref))
                now = after
        if now is not before and shape is not None:
            self._write(item, before, now, shape)
        return True

    def _applied(self, job: Job, now: Object, shape: SchemaShape, item: Resource) -> Object | None:
        """The object after one patch, None where the patch removes it."""
        moved: list[Moved] = []
        after = job.patch.apply(now, shape, self.config.modes, moved)
        if job.patch.removes:
            return None
        after = _with_identity(after, now, job)
        if job.patch.operations is not None and not job.unstable:
            # P6: what is declared in a pipeline runs again.
            job.unstable = not same(_again(job, after), after)
        for move in moved:
            path = format_path(move.path)
            why = "elements that the patch does not name come first"
            self.resource_list.results.info(
                f"{item.ref}: {job.label} moves {move.element} in {path}: {why}",
                resource=item.ref,
                file=item.file,
                path=path,
                tags={"rule": "P2"},
            )
        return after

    def _write(self, item: Resource, before: Object, now: Object, shape: SchemaShape) -> None:
        item.change(before, now, shape.keys_at)
        try:
            item.settle()
        except TextError as error:
            self.resource_list.results.error(f"{item.file}: {error}", file=item.file)

    def _shape(self, item: Resource) -> SchemaShape:
        key = (item.api_version, item.kind)
        if key not in self._shapes:
            if self._schemas is None:
                self._schemas = Schemas(self._definitions)
            schema = self._schemas.of(Member("", subject_of(item.root), item.root, ""))
            own = [k for k in self.config.list_keys if (k.api_version, k.kind) == key]
            if own:
                schema = WithListKeys(schema, tuple((k.path, KeyedList(k.keys)) for k in own))
            self._shapes[key] = SchemaShape(schema)
        return self._shapes[key]

    def _definitions(self) -> Iterator[Mapping]:
        for item in self.resource_list.items:
            if CRD.encode() in item.slice.data and item.kind == CRD:
                yield item.root


def _matches(target: Target, value: Object) -> bool:
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    group, _, version = str(value.get("apiVersion", "")).rpartition("/")
    name, namespace = (str(metadata.get(field) or "") for field in ("name", "namespace"))
    identity = Identity(group, version, str(value.get("kind", "")), name, namespace)
    return target.matches(identity, _texts(metadata.get("labels")), _texts(metadata.get("annotations")))


def _texts(value: Value) -> dict[str, str]:
    return {name: str(text) for name, text in value.items()} if isinstance(value, dict) else {}


def _again(job: Job, after: Object) -> Object | None:
    try:
        assert job.patch.operations is not None
        return job.patch.operations.apply(after)
    except PatchError:
        return None


def _with_identity(after: Object, before: Object, job: Job) -> Object:
    """The object with the name and kind that it had, unless the patch may change them."""
    result = after
    if job.keeps_kind:
        for name in ("apiVersion", "kind"):
            result = _set(result, name, before)
    if job.keeps_name:
        metadata, had = result.get("metadata"), before.get("metadata")
        if isinstance(metadata, dict) and isinstance(had, dict):
            for name in ("name", "namespace"):
                metadata = _set(metadata, name, had)
            result = result if metadata is result["metadata"] else {**result, "metadata": metadata}
    return result


def _set(value: Object, name: str, before: Object) -> Object:
    """The map with a field as it was before."""
    if name in value and name in before and same(value[name], before[name]):
        return value
    if name not in value and name not in before:
        return value
    if name in before:
        return {**value, name: before[name]}
    return {key: inner for key, inner in value.items() if key != name}


def _report(resource_list: ResourceList, jobs: list[Job]) -> None:
    results = resource_list.results
    if results.errors:
        return
    for job in jobs:
        if not job.matched:
            # P4: silence would hide a typing error.
            results.warning(
                f"functionConfig: {job.label} matches nothing in the package; check its target",
                path=job.label,
                tags={"rule": "P4"},
            )
            continue
        names = ", ".join(job.changed[:_SHOWN]) + (
            f" and {len(job.changed) - _SHOWN} more" if len(job.changed) > _SHOWN else ""
        )
        nouns = "resource" if job.matched == 1 else "resources"
        changed = f"changes {len(job.changed)}: {names}" if job.changed else "changes none"
        results.info(
            f"functionConfig: {job.label} matches {job.matched} {nouns}, {changed}", path=job.label, tags={"rule": "P4"}
        )
        if job.unstable:
            results.warning(
                f"functionConfig: {job.label}: a second run of this JSON patch would change more; in a pipeline use a "
                "strategic merge patch, or operations that give the same again",
                path=job.label,
                tags={"rule": "P6"},
            )
