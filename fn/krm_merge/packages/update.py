"""Decides `kpt pkg update`: the strategies, for the package and subpackages with an upstream of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import dirname, join, normpath
from typing import Final, Protocol

from krm_merge.git.program import time_limited
from krm_merge.krm import KPTFILE, Result, Results
from krm_merge.limits import SUBPACKAGES
from krm_merge.merge import FileDecision, PackageDecisions, PackageMerger, report_files
from krm_merge.packages.files.tree import (
    Changed,
    Changes,
    File,
    PackageError,
    RefusedError,
    Subtree,
    Tree,
    folders_around,
    is_kptfile,
    refuse_repositories,
)
from krm_merge.packages.git import Version, scheme_of
from krm_merge.packages.kptfile import STRATEGIES, KptfileText, Lock, Upstream, addresses_in, upstream_of
from krm_merge.packages.merge.other_files import lines_of_conflicts
from krm_merge.packages.merge.side import KRMIGNORE, Flaw, attribution_in, newly_broken_files, with_origin
from krm_merge.packages.merge.trees import MergedTree, local_changes, merge_trees, refuse_clash
from krm_merge.safe_text import abridge, quoted
from krm_merge.startup import frozen, replace
from krm_merge.text import Value

_SHOWN = 10


def resource_merge(original: Tree, upstream: Tree, local: Tree, merge: PackageMerger) -> MergedTree:
    """The three-way merge of all resources and files, but for packages inside that say they are replaced."""
    replaced = _replaced_packages(original, upstream, local)
    before, theirs, ours = (_without(side, replaced) for side in (original, upstream, local))
    merged = merge_trees(before, theirs, ours, merge, notes_origin=True)
    if not replaced:
        return merged
    before, theirs, ours = (
        {path: side[path] for path in side if path.startswith(replaced)} for side in (original, upstream, local)
    )
    return _replace(merged, before, theirs, ours, merge, [path for path in ours if path not in theirs])


def _replaced_packages(original: Tree, upstream: Tree, local: Tree) -> tuple[str, ...]:
    """The folders of the packages inside with an upstream of their own whose strategy is force-delete-replace."""
    kptfiles = (path for path in local if is_kptfile(path) and path != KPTFILE and path in upstream)
    following = ((path, upstream_of(local[path].data)) for path in kptfiles if path in original)
    return tuple(f"{dirname(path)}/" for path, own in following if own and own.strategy == "force-delete-replace")


def fast_forward(original: Tree, upstream: Tree, local: Tree, merge: PackageMerger) -> MergedTree:
    """Takes upstream's files for a package without local changes; refuses any other package.

    Packages inside that follow an upstream of their own may have changes, and decide on them by themselves.
    """
    nested = (*own_packages({}, original), *own_packages({}, local))
    changed = local_changes(_without(original, nested), _without(local, nested))
    if not changed:
        merged = resource_merge(original, upstream, local, merge)
        return replace(merged, changes=_without_render_status(local, merged.changes))
    results = Results()
    results.error(
        f"local changes in {abridge(changed, _SHOWN)}; fast-forward allows none; --strategy resource-merge keeps them",
        file=changed[0],
    )
    return MergedTree({}, results)


def _without_render_status(local: Tree, changes: Changes) -> Changes:
    kptfile = Changed(local, changes).get(KPTFILE)
    if kptfile is None or b"status" not in kptfile.data:
        return changes
    data = KptfileText(kptfile.data, KPTFILE).without_render_status()
    return changes if data == kptfile.data else {**changes, KPTFILE: replace(kptfile, data=data)}


def force_delete_replace(original: Tree, upstream: Tree, local: Tree, merge: PackageMerger) -> MergedTree:
    """Upstream's package in place of local's; only the root's Kptfile is merged."""
    rest = without_own_packages(original, local)
    merged = _merge_kptfiles(original, upstream, local, merge)
    return _replace(merged, original, upstream, local, merge, [path for path in rest if path not in upstream])


def copy_merge(original: Tree, upstream: Tree, local: Tree, merge: PackageMerger) -> MergedTree:
    """Upstream's files in place of local's of those names; the root's Kptfile is merged, local's own files stay."""
    rest = without_own_packages(original, local)
    gone = [path for path in original if path not in upstream and path in rest]
    return _replace(_merge_kptfiles(original, upstream, local, merge), original, upstream, local, merge, gone)


BY_NAME: Final[Mapping[str, Callable[[Tree, Tree, Tree, PackageMerger], MergedTree]]] = dict(
    zip(STRATEGIES, (resource_merge, fast_forward, force_delete_replace, copy_merge), strict=True)
)


def _merge_kptfiles(original: Tree, upstream: Tree, local: Tree, merge: PackageMerger) -> MergedTree:
    before, theirs, ours = ({KPTFILE: side[KPTFILE]} if KPTFILE in side else {} for side in (original, upstream, local))
    return merge_trees(before, theirs, ours, merge)


def _replace(
    merged: MergedTree, original: Tree, upstream: Tree, local: Tree, merge: PackageMerger, gone: list[str]
) -> MergedTree:
    """Puts upstream's files in place of local's, beside what was `merged`; `gone` are deleted."""
    changes: dict[str, File | None] = {path: None for path in gone if path != KPTFILE}
    nested, attribution = own_packages(original, local), attribution_in(local)
    for path, file in upstream.items():
        if nested and path.startswith(nested):
            message = f"{path}: not added; local has a package with an upstream of its own there"
            merged.results.warning(message, file=path, rule="R3", tags={"side": "upstream"})
        elif path != KPTFILE and (marked := with_origin(path, file, attribution)) != local.get(path):
            changes[path] = marked
    lost = set(local_changes(original, local))
    # Whoever asks for this strategy has decided, unless conflicts are to fail.
    policy = replace(merge.policy, on_conflict="upstream", stops=False) if merge.policy.stops else merge.policy
    decided: list[FileDecision] = []
    for path, new in changes.items():
        did = "deleted" if new is None else "replaced by upstream's" if path in local else "added, as in upstream"
        versions = (original.get(path), upstream.get(path), local.get(path), new)
        before, theirs, ours, after = (None if file is None else file.data for file in versions)
        if path in lost and path in local:
            # Law F: asked for, but on record.
            message, severity = policy.explanation((), "local changed it", f"it is {did}"), policy.severity(())
            decided.append(FileDecision(path, "F", message, "both", severity, before, theirs, ours, after))
        else:
            decided.append(FileDecision(path, "F", did, "upstream", "info", before, theirs, ours, after))
    report_files(decided, merged.results)
    changes |= merged.changes
    refuse_clash(local, changes, merged.results)
    all_decided = replace(merged.decided, files=[*merged.decided.files, *decided])
    return MergedTree({} if merged.results.errors else changes, merged.results, merged.reached, all_decided)


def without_own_packages(original: Tree, local: Tree) -> Tree:
    """Local's files, without the packages inside that follow an upstream of their own."""
    return _without(local, own_packages(original, local))


def _without(tree: Tree, folders: tuple[str, ...]) -> Tree:
    return {path: tree[path] for path in tree if not path.startswith(folders)} if folders else tree


def own_packages(original: Tree, local: Tree) -> tuple[str, ...]:
    """The folders of the packages inside that follow an upstream of their own, which the original has not."""
    inside = (path for path in local if is_kptfile(path) and path != KPTFILE and path not in original)
    return tuple(f"{dirname(path)}/" for path in inside if upstream_of(local[path].data) is not None)


class Repositories(Protocol):
    """The source of upstream packages."""

    def resolve(self, repository: str, directory: str, ref: str) -> Version:
        """The commit that a ref names now."""
        ...

    def fetch(self, repository: str, commits: Sequence[str]) -> None:
        """Prepares for `tree` of several commits: fetched together they take less time."""
        ...

    def tree(self, repository: str, directory: str, commit: str) -> Tree:
        """The files of a package in a commit."""
        ...


@frozen
class Updated:
    """One package that was updated: its folder (the root's is ''), and from which version to which."""

    folder: str
    before: Lock | None
    after: Lock

    def to_value(self) -> dict[str, Value]:
        """As reports have it: from which version to which."""
        before = self.before
        return {
            "path": self.folder or ".",
            "from": None if before is None else {"ref": before.ref, "commit": before.commit},
            "to": {"ref": self.after.ref, "commit": self.after.commit},
        }


_OF_ANYBODY: Final = ("https", "ssh", "git")


class NewAddressError(RefusedError):
    """Upstream brings a package from an address that no Kptfile had: the user decides whether it is fetched (A14)."""

    def __init__(self, file: str, address: str) -> None:
        """Takes the Kptfile that names the address."""
        super().__init__(
            f"{file}: upstream adds a package from a new address, {address}; nothing was fetched from it. "
            f"To allow it: --allow-address {quoted(address)}"
        )
        self.address = address


@time_limited()
def update_package(
    local: Tree,
    repositories: Repositories,
    merge: PackageMerger,
    *,
    name: str = "",
    ref: str | None = None,
    strategy: str | None = None,
    allowed: Collection[str] = (),
) -> Update:
    """Decides what becomes of a package when it takes another version of its upstream.

    `ref` None takes what the Kptfile's own ref names now, `strategy` None the Kptfile's. As in kpt, packages inside it
    that follow an upstream of their own are updated by that; one that followed the same ref of the same repository
    follows the new one. `name` is how errors name the package. Raises PackageError, and NewAddressError where upstream
    brings an address that is not `allowed`.
    """
    if KPTFILE not in local:
        raise PackageError(f"{name or 'the package'} has no Kptfile; name the directory of a package")
    root = KptfileText(local[KPTFILE].data, join(name, KPTFILE)).upstream
    if root is None:
        file = join(name, KPTFILE)
        raise PackageError(f"{file} has no upstream in git; packages that `kpt pkg get` fetched have one")
    done = Update(repositories, merge, name, root.repository, {*addresses_in(local)}, allowed)
    # From the outside in: an update may remove the packages inside, or bring others.
    pending = [("", ref, strategy)]
    while pending:
        folder, new_ref, how = pending.pop()
        if len(done.packages) > SUBPACKAGES.value():
            most = f"more than {SUBPACKAGES.value():,} packages in it follow an upstream of their own"
            raise PackageError(f"{name}: {most}; {SUBPACKAGES.remedy}")
        tree = Changed(local, done.changes)
        before = Subtree(tree, folder) if folder else tree
        changes = done.update(before, folder, new_ref, how)
        done.changes |= {join(folder, path): file for path, file in changes.items()}
        if done.results.errors:
            done.changes.clear()
            return done
        for inside, upstream in _inside(Changed(before, changes)):
            same = ref is not None and _follows_same(upstream, root)
            pending.append((join(folder, inside), ref if same else None, strategy if same else None))
    # Over all packages together: two of them could each bring a half of a repository (A1).
    refuse_repositories(name, local, done.changes)
    return done


@dataclass(slots=True)
class Update:
    """The whole update of the package `name`, whose own upstream is at `address`.

    `known` are the addresses that Kptfiles had before. Where a result is an error, nothing changes.
    """

    repositories: Repositories
    merge: PackageMerger
    name: str
    address: str
    known: set[str]
    allowed: Collection[str]
    changes: dict[str, File | None] = field(default_factory=dict)
    results: Results = field(default_factory=Results)
    packages: list[Updated] = field(default_factory=list)
    reached: frozenset[int] = frozenset()
    decided: list[PackageDecisions] = field(default_factory=list)

    def update(self, local: Tree, folder: str, ref: str | None, strategy: str | None) -> dict[str, File | None]:
        """The changes of one package, which lies in this folder."""
        file = join(self.name, folder, KPTFILE)
        kptfile = KptfileText(local[KPTFILE].data, file)
        upstream, lock = kptfile.upstream, kptfile.lock
        assert upstream is not None
        ref = ref or upstream.ref
        how = strategy or upstream.strategy
        if how not in BY_NAME:
            raise PackageError(f"{file}: upstream.updateStrategy is {quoted(how)}; choose from {', '.join(BY_NAME)}")
        version = self.repositories.resolve(upstream.repository, upstream.directory, ref)
        after = Lock(upstream.repository, upstream.directory, version.ref, version.commit)
        if version.ref == version.commit:
            # For kpt a commit id is whole.
            ref = version.ref
        self._refuse_cycle(folder, after, file)
        # Both versions in one request, where one repository has them.
        if lock is not None and lock.repository == upstream.repository:
            self.repositories.fetch(upstream.repository, [version.commit, lock.commit])
        theirs = self.repositories.tree(upstream.repository, upstream.directory, version.commit)
        before = _original(self.repositories, lock, file)
        if lock is None:
            problem = "has no upstreamLock; merged without an original, so nothing counts as deleted"
            self.results.warning(f"{file} {problem}")
        _refuse_half_done(before, without_own_packages(before, local), join(self.name, folder))
        merged = BY_NAME[how](before, theirs, local, self.merge)
        for result in merged.results:
            self.results.add(_in_folder(result, folder))
        self.reached |= merged.reached
        self.decided.append(replace(merged.decided, folder=folder))
        if merged.results.errors:
            return {}
        changes = dict(merged.changes)
        own_kptfile = Changed(local, changes)[KPTFILE]
        # K2: the Kptfile says where the package comes from when all else is done.
        data = KptfileText(own_kptfile.data, file).following(ref, after, strategy)
        if data != local[KPTFILE].data:
            changes[KPTFILE] = File(data, own_kptfile.mode)
        self._check_addresses(folder, before, theirs, Changed(local, changes))
        self.packages.append(Updated(folder, lock, after))
        return changes

    def _check_addresses(self, folder: str, original: Tree, upstream: Tree, merged: Tree) -> None:
        """Refuses addresses that upstream must not bring, before anything is fetched from there (A14)."""
        before = addresses_in(original)
        brought = {*before, *addresses_in(upstream)}
        self.known |= {*before, self.address}
        for address, path in addresses_in(merged).items():
            file = join(self.name, folder, path)
            # With its own address the package is where the user put it.
            if address in brought and address != self.address and not self._may_be_brought(address):
                schemes = f"{', '.join(_OF_ANYBODY)} or as the package's own address has it"
                problem = f"upstream adds a package from {quoted(address)}, which is not an address with {schemes}"
                raise PackageError(f"{file}: {problem}; nothing was fetched from it")
            if address in self.known:
                continue
            if address not in self.allowed:
                raise NewAddressError(file, address)
            self.known.add(address)
            message = f"{join(folder, path)}: upstream adds a package from a new address, {address}"
            self.results.warning(message, file=join(folder, path), tags={"side": "upstream"})

    def _may_be_brought(self, address: str) -> bool:
        scheme = scheme_of(address)
        return scheme in _OF_ANYBODY or (scheme != "" and scheme == scheme_of(self.address))

    def _refuse_cycle(self, folder: str, after: Lock, file: str) -> None:
        """A package that holds itself would never end."""
        for outer in self.packages:
            around = not outer.folder or folder.startswith(f"{outer.folder}/")
            same = (outer.after.repository, normpath(f"/{outer.after.directory}"), outer.after.commit)
            # Only packages around this one: two beside each other may be equal.
            if around and same == (after.repository, normpath(f"/{after.directory}"), after.commit):
                raise PackageError(f"{file}: has the upstream of a package that contains it; correct upstream.git")


def _refuse_half_done(original: Tree, local: Tree, name: str) -> None:
    """I13: refuses to update what somebody left half done. Raises RefusedError, which names every such file."""
    lines = lines_of_conflicts(local)
    # Documents about merges may show markers.
    as_fetched = lines_of_conflicts({path: original[path] for path in lines if path in original})
    marked = {path: Flaw(line, "a conflict between markers") for path, line in lines.items() if path not in as_fetched}
    broken = dict(newly_broken_files(original, {path: file for path, file in local.items() if path not in lines}))
    if not marked and not broken:
        return
    flaws = sorted((marked | broken).items())
    remedies = ["settle it"] if marked else []
    remedies += [f"fix the file, or list it in {KRMIGNORE} if it is not YAML on purpose"] if broken else []
    places = abridge([flaw.at(join(name, path)) for path, flaw in flaws], _SHOWN, "; ")
    raise RefusedError(f"{places}; {'; '.join(remedies)}; nothing was changed")


def _original(repositories: Repositories, lock: Lock | None, file: str) -> Tree:
    if lock is None:
        return {}
    try:
        return repositories.tree(lock.repository, lock.directory, lock.commit)
    except PackageError as error:
        remedy = f"upstreamLock in {file} names it: set that to the commit whose package is nearest to what was fetched"
        raise PackageError(f"{error}; {remedy}") from None


def _inside(tree: Tree) -> Iterable[tuple[str, Upstream]]:
    """The packages directly inside one that follow an upstream of their own, by folder."""
    folders = {dirname(path) for path in tree if is_kptfile(path) and path != KPTFILE}
    for folder in sorted(folders):
        if not folders.isdisjoint(folders_around(folder)):
            continue
        # What does not parse was merged as text, with a warning.
        if (upstream := upstream_of(tree[f"{folder}/{KPTFILE}"].data)) is not None:
            yield folder, upstream


def _follows_same(inner: Upstream, root: Upstream) -> bool:
    folder, around = (normpath(f"/{upstream.directory}") for upstream in (inner, root))
    return (
        inner.repository == root.repository
        and inner.ref == root.ref
        and (folder + "/").startswith(around.rstrip("/") + "/")
    )


def _in_folder(result: Result, folder: str) -> Result:
    if result.file is None or not folder:
        return result
    names_file = result.message.startswith(result.file)
    message = join(folder, result.message) if names_file else result.message
    return replace(result, message=message, file=join(folder, result.file))
