"""Where packages inside come from: addresses that upstream brings are named, asked for, or refused."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.commands.merge.updates import OWN_KPTFILE, Run
from e2e.hosts import GIT_ENVIRONMENT, SECONDS, git, installed_program
from krm_merge.packages.files.tree import File
from packages.repositories import Repository, kptfile, snapshot, write

OWN = "https://127.0.0.1:1/own"
"""The package's own address, which git is told to look for elsewhere."""


class World:
    """A package at v1 of its upstream, whose v2 brings a package inside, and a private repository."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.upstream = Repository.at(place / "upstream")
        self.first = self.upstream.version("v1", {"Kptfile": OWN_KPTFILE})
        self.private = Repository.at(place / "private")
        self.private.version("v1", {"Kptfile": OWN_KPTFILE, "private.txt": "private\n"})
        settings = f'[url "file://{self.upstream.path}"]\n insteadOf = {OWN}\n'
        settings += f'[url "file://{self.private.path}"]\n insteadOf = https://127.0.0.1:1/other\n'
        write(place, {"settings": settings})
        mark = f"#!/bin/sh\ntouch {place}/started\n".encode()
        helpers = {f"git-remote-{name}": File(mark, "executable") for name in ("probe", "foo", "fd", "ext")}
        write(place / "bin", {**helpers})
        self.environment = {
            "GIT_CONFIG_GLOBAL": str(place / "settings"),
            "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}",
        }

    def package(self, own: str = OWN, **more: str) -> Path:
        return write(self.place / "web", {"Kptfile": kptfile(own, "v1", self.first), **more})

    def bring(self, address: str, commit: str = "", *, lock: str = "") -> None:
        text = kptfile(address, "v1", commit)
        if lock:
            before, separator, after = text.partition("upstreamLock:")
            text = before + separator + after.replace(address, lock)
        self.upstream.version("v2", {"sub/Kptfile": text})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize(
    "address",
    [
        "{private}",
        "file://{private}",
        "../private",
        "private",
        "probe::/x",
        "ext::sh -c true",
        "fd::17",
        "::x",
        "foo://x",
        "http://127.0.0.1:1/x",
        "HTTPS://127.0.0.1:1/x",
        "--upload-pack=touch started",
        "-x",
        "./a:b",
        "file:///{private}",
    ],
)
def test_what_no_stranger_may_name_is_never_fetched(world: World, krm_merge: Callable[..., Run], address: str) -> None:
    """Neither a path of this machine nor another helper of git, even where somebody allows it."""
    address = address.format(private=world.private.path)
    world.bring(f"'{address}'")
    package = world.package()
    before = snapshot(package)
    message = f"web/sub/Kptfile: upstream adds a package from {address}, which is not an address with https, ssh"
    for allow in [[], *([] if address.startswith("-") else [["--allow-address", address]])]:
        done = krm_merge("update", f"{package}@v2", *allow, **world.environment)
        assert done.returncode == 3, done.stderr
        assert message in done.stderr
        assert snapshot(package) == before
    assert not (world.place / "started").exists()


def test_an_upstream_lock_is_an_address_too(world: World, krm_merge: Callable[..., Run]) -> None:
    world.bring(OWN, world.first, lock=str(world.private.path))
    done = krm_merge("update", f"{world.package()}@v2", **world.environment)
    assert done.returncode == 3
    assert f"upstream adds a package from {world.private.path}" in done.stderr


def test_what_kpt_fetched_with_the_package_came_from_upstream(world: World, krm_merge: Callable[..., Run]) -> None:
    """`kpt pkg get` wrote the path of the machine, and nobody looked."""
    inside = kptfile(world.private.path, "v1")
    first = world.upstream.version("v1b", {"sub/Kptfile": inside})
    world.upstream.version("v2", {"new.txt": "x\n"})
    package = write(world.place / "web", {"Kptfile": kptfile(OWN, "v1b", first), "sub/Kptfile": inside})
    done = krm_merge("update", f"{package}@v2", **world.environment)
    assert done.returncode == 3
    assert f"upstream adds a package from {world.private.path}" in done.stderr
    assert not (package / "sub/private.txt").exists()


@pytest.mark.parametrize(
    ("command", "address"),
    [
        *(("update", address) for address in ("ssh://git@127.0.0.1:1/x", "git@h:x", "git://h/x")),
        *((command, "https://127.0.0.1:1/x") for command in ("resolve --terminal", "update --dry-run")),
    ],
)
def test_a_new_address_stops_before_it_is_asked(
    world: World, krm_merge: Callable[..., Run], address: str, command: str
) -> None:
    world.bring(address)
    resolutions = f"resolutions: [{{fingerprint: {'a' * 64}, path: a, nature: value, choice: local}}]\n"
    policy = f"apiVersion: fn.kpt.dev/v1alpha1\nkind: MergePolicy\nmetadata: {{name: p}}\n{resolutions}"
    package = world.package(**({"policy.yaml": policy} if "prune" in command else {}))
    before = snapshot(package)
    done = krm_merge(*command.split(), f"{package}@v2", **world.environment)
    assert done.returncode == 1, done.stderr + done.stdout
    assert f"sub/Kptfile: upstream adds a package from a new address, {address}; nothing was fetched" in done.stderr
    assert f"--allow-address {address}" in done.stderr
    assert snapshot(package) == before


def test_an_allowed_address_is_named_in_the_output_and_in_reports(world: World, krm_merge: Callable[..., Run]) -> None:
    address = "https://127.0.0.1:1/other"
    world.bring(address)
    package, report = world.package(), world.place / "report.json"
    done = krm_merge("update", f"{package}@v2", "--allow-address", address, "--report", report, **world.environment)
    assert done.returncode == 0, done.stderr
    message = f"sub/Kptfile: upstream adds a package from a new address, {address}"
    assert f"warning {message}" in done.stderr
    assert message in {result["message"] for result in json.loads(report.read_text())["results"]}
    assert (package / "sub/private.txt").exists()
    world.upstream.version("v3", {"new.txt": "x\n"})
    done = krm_merge("update", f"{package}@v3", "--allow-dirty", **world.environment)
    assert done.returncode == 0, done.stderr
    assert "new address" not in done.stderr


def test_a_package_on_this_machine_may_bring_others_of_it(world: World, krm_merge: Callable[..., Run]) -> None:
    world.bring(str(world.private.path))
    package = world.package(own=f"file://{world.upstream.path}")
    done = krm_merge("update", f"{package}@v2", **world.environment)
    assert (done.returncode, "a new address" in done.stderr) == (1, True)
    done = krm_merge("update", f"{package}@v2", "--allow-address", world.private.path, **world.environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1), ("", 1)])
def test_a_terminal_asks(world: World, answer: str, code: int) -> None:
    world.bring("https://127.0.0.1:1/other")
    package = world.package()
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    done = subprocess.run(
        [installed_program(), "update", f"{package}@v2", "--quiet"],
        cwd=world.place,
        env={**os.environ, **GIT_ENVIRONMENT, **world.environment, "KRM_MERGE_CACHE_DIR": str(world.place / "cache")},
        stdin=theirs,
        stderr=theirs,
        timeout=SECONDS,
    )
    shown = os.read(ours, 1 << 16).decode()
    assert done.returncode == code, shown
    assert "Fetch from it?" in shown
    assert (package / "sub/private.txt").exists() == (code == 0)


def test_packages_that_hold_each_other_by_their_kptfiles_are_bounded(
    world: World, krm_merge: Callable[..., Run]
) -> None:
    """Ten in each of nine folders, and a billion in all."""
    files = {
        f"{at}/{inside}/Kptfile": kptfile(OWN, "main", directory=f"/{at + 1}")
        for at in range(9)
        for inside in range(10)
    }
    own = {f"{at}/Kptfile": OWN_KPTFILE for at in range(10)}
    commit = world.upstream.version("v2", {**own})
    world.upstream.commit({**files})
    package = write(world.place / "web", {"Kptfile": kptfile(OWN, "v2", commit, "/0")})
    done = krm_merge("update", f"{package}@main", KRM_MERGE_MAX_SUBPACKAGES="20", **world.environment)
    assert done.returncode == 3
    assert "more than 20 packages in it follow an upstream of their own; raise the limit with" in done.stderr


@pytest.mark.parametrize("allowed", ["https:ssh", "probe:ext:https"])
def test_git_speaks_no_other_protocol(world: World, allowed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user may allow fewer; kpt gets the same."""
    from krm_merge.git import program

    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", allowed)
    for alone in (False, True):
        assert set(program.safe_environment(alone=alone)["GIT_ALLOW_PROTOCOL"].split(":")) == {"https", "ssh"} & {
            *allowed.split(":")
        }
    monkeypatch.delenv("GIT_ALLOW_PROTOCOL")
    done = subprocess.run(
        ["git", "ls-remote", "probe::/x"],
        cwd=world.place,
        env={**program.safe_environment(), "PATH": world.environment["PATH"]},
        capture_output=True,
        encoding="utf-8",
    )
    assert "transport 'probe' not allowed" in done.stderr
    assert not (world.place / "started").exists()
    assert git(world.upstream.path, "tag")


def test_the_function_never_fetches(tmp_path: Path) -> None:
    """Nothing that reaches a network or starts git is loaded, also where a package inside has an address."""
    inside = "- " + kptfile("https://127.0.0.1:1/x").replace("\n", "\n  ")
    inside = inside.replace(
        "  name: pkg\n", "  name: pkg\n    annotations: {internal.config.kubernetes.io/path: sub/Kptfile}\n"
    )
    config = "functionConfig: {apiVersion: fn.kpt.dev/v1alpha1, kind: MergePackage, metadata: {name: m}, "
    text = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{inside.rstrip()}\n{config}"
    text += f"original: {json.dumps(OWN_KPTFILE)}, upstream: {json.dumps(kptfile('https://127.0.0.1:1/x'))}}}\n"
    code = (
        "import sys\nfrom krm_merge.__main__ import main\n"
        "try:\n    main()\nfinally:\n"
        "    print(sorted({'krm_merge.git.program', 'socket', 'subprocess'} & {*sys.modules}), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, encoding="utf-8", cwd=tmp_path)
    assert "kind: ResourceList" in done.stdout, done.stderr
    assert done.stderr.splitlines()[-1] == "[]"
