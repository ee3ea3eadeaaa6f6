"""Runs the program git with its credentials, and reports its errors (A1): the one place from which git is started.

What a repository says in its settings can start programs. So git is never left to look for a repository around the
current directory, which may be a package from upstream: each call names one, or none (A1). The settings of calls are in
the environment, where the processes that git starts find them, too.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from krm_merge import interrupts
from krm_merge.errors import KrmMergeError
from krm_merge.posix import require_process_groups
from krm_merge.safe_text import quoted, without_credentials
from krm_merge.startup import fresh, frozen, pattern

_TOKEN: Final = "KRM_MERGE_FORGE_TOKEN"
# Helpers may answer, windows and terminals may not be opened for it.
_NO_QUESTIONS: Final = {"GIT_ASKPASS": "", "SSH_ASKPASS": ""}
_HELPER: Final = f'!f() {{ test "$1" = get && printf "username=x-access-token\\npassword=%s\\n" "${_TOKEN}"; }}; f'


@frozen
class Credentials:
    """Options that make git ask us for credentials, after the helpers that the user has configured.

    The token is in the environment: other users of the machine can see arguments.
    """

    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = fresh(factory=dict)


NO_CREDENTIALS: Final = Credentials()


def credentials_for(url: str, token: str) -> Credentials:
    """The credentials for the host of a repository, over https alone; none if the address has its own."""
    address = urlsplit(url)
    # Over http everybody on the way would have it.
    if not token or address.scheme != "https" or address.username:
        return NO_CREDENTIALS
    return Credentials(("-c", f"credential.https://{address.netloc}.helper={_HELPER}"), {_TOKEN: token})


@frozen
class Token:
    """A secret, '' for none, and its `source`: the setting to correct, or the one to set."""

    secret: str = ""
    source: str = ""


def token_for(host: str, variable: str = "") -> Token:
    """The token of one host: from KRM_MERGE_TOKEN_HOST, from the `variable` of this host, or from git."""
    host_variable = variable_of(host)
    for name in filter(None, (host_variable, variable)):
        if secret := os.environ.get(name, "").strip():
            return Token(secret, name)
    if secret := _password(host):
        return Token(secret, "the password in git's credential helper")
    return Token("", variable or host_variable)


def variable_of(host: str) -> str:
    """The environment variable for the token of a host."""
    return f"KRM_MERGE_TOKEN_{_in_variables(host)}"


def _password(host: str) -> str:
    """The token of git's credential helpers for a host, '' for none. Never prompts."""
    request = f"protocol=https\nhost={host}\n\n".encode()
    try:
        done = run(
            ["-c", "credential.interactive=false", "credential", "fill"], data=request, environment=_NO_QUESTIONS
        )
    except GitError:
        return ""
    lines = done.stdout.decode(errors="replace").splitlines() if done.returncode == 0 else []
    return next((line.removeprefix("password=") for line in lines if line.startswith("password=")), "")


def _in_variables(host: str) -> str:
    """A host as names of environment variables have it."""
    return "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in host).upper()


def take_credentials(url: str) -> str:
    """The address without credentials. Git uses them for its host from now on, in all processes that this one starts.

    They are in the environment, so that no file, argument or message has them. The first of a host count.
    """
    try:
        address = urlsplit(url)
    except ValueError:
        return url
    login, has_login, host = address.netloc.rpartition("@")
    if not has_login or address.scheme not in ("https", "http"):
        return url
    variable = f"KRM_MERGE_LOGIN_{_in_variables(host)}"
    # Targets of a fleet may write the same address with different ones; git cannot use both.
    if variable not in os.environ:
        user, _, password = map(unquote, login.partition(":"))
        fields = {"username": user, "password": password}
        os.environ[variable] = "".join(
            f"{name}={text.splitlines()[0]}\n" for name, text in fields.items() if text.strip()
        )
        # Settings that the user gives git in this way must stay.
        count = int(os.environ.get("GIT_CONFIG_COUNT") or "0")
        os.environ |= {
            "GIT_CONFIG_COUNT": str(count + 1),
            f"GIT_CONFIG_KEY_{count}": f"credential.{address.scheme}://{host}.helper",
            f"GIT_CONFIG_VALUE_{count}": f'!f() {{ test "$1" = get && printf %s "${variable}"; }}; f',
        }
    return urlunsplit(address._replace(netloc=host))


_ABOUT_A_REPOSITORY = frozenset(
    (
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG_PARAMETERS",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    )
)
"""Environment variables that lead git to the repository of somebody else's call."""

_ALONE = {"GIT_ATTR_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

_SAFE: Final = {
    "safe.bareRepository": "explicit",  # a folder with HEAD, objects and refs is no repository
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "protocol.ext.allow": "never",
    "fetch.recurseSubmodules": "false",
    "submodule.recurse": "false",
    # Our stores hold a few commits, and users tidy up their own repositories.
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_PROTOCOLS: Final = ("file", "git", "http", "https", "ssh")
"""All that git may speak: for any other `SCHEME::ADDRESS` it starts the program `git-remote-SCHEME` of the PATH."""
_NO_ATTRIBUTES: Final = {"core.attributesFile": os.devnull}
_OLDEST: Final = (2, 38)
"""The first version that obeys safe.bareRepository and merges without a working tree."""

TIMEOUT_VARIABLE = "KRM_MERGE_GIT_TIMEOUT"
"""The environment variable for the seconds that git may take for an update, or elsewhere make no progress."""
_TIMEOUT = 300.0
_MOST_ANSWERED = 32 * 1024 * 1024
"""The bytes that a server may have git write: names of branches, progress and complaints."""
_CHUNK = 1 << 16
_TO_END_IN = 2.0
_BETWEEN_LOOKS = 0.01
_REMOTE = ("ls-remote", "fetch", "push")
_WAITING = (*_REMOTE, "credential")
"""Commands that may wait for others: these need not be left to finish."""


class GitError(KrmMergeError):
    """An error of git, or git is missing."""

    def __init__(self, message: str) -> None:
        """Hides credentials in URLs."""
        super().__init__(without_credentials(message))


class GitTimeoutError(GitError):
    """Git took too long, or made no progress for too long, and was stopped."""


_seconds_left: ContextVar[list[float] | None] = ContextVar("seconds_left", default=None)
"""What is left of the time for an update; None outside of one."""


@contextmanager
def time_limited() -> Iterator[None]:
    """Has all calls of git inside take together what TIMEOUT_VARIABLE allows (A13). Raises GitError."""
    if _seconds_left.get() is not None:
        yield
        return
    token = _seconds_left.set([_limit()])
    try:
        yield
    finally:
        _seconds_left.reset(token)


@contextmanager
def counted_time() -> Iterator[float]:
    """The seconds that a call of git may take now, infinite outside of `time_limited`. Raises GitTimeoutError."""
    left = _seconds_left.get()
    begin = time.monotonic()
    try:
        yield float("inf") if left is None else max(left[0], 0.0)
    finally:
        if left is not None:
            left[0] -= time.monotonic() - begin


def too_slow(what: str, *, is_silent: bool = False) -> GitTimeoutError:
    """The error about a git that was stopped; `what` it did."""
    how = "made no progress for" if is_silent else "took longer than"
    remedy = f"set {TIMEOUT_VARIABLE} to more seconds if its server is that slow"
    return GitTimeoutError(f"{what} {how} {_limit():g} s and was stopped; {remedy}")


def output(
    arguments: Sequence[str],
    store: Path | None = None,
    data: bytes | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    work_tree: Path | None = None,
    alone: bool = False,
) -> bytes:
    """The output of git; `store` is the repository, `data` its stdin. Raises GitError."""
    done = run(arguments, store, data, environment, work_tree=work_tree, alone=alone)
    if done.returncode != 0:
        raise GitError(complaint(done.stderr))
    return done.stdout


def run(
    arguments: Sequence[str],
    store: Path | None = None,
    data: bytes | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    work_tree: Path | None = None,
    directory: Path | None = None,
    alone: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Runs git and returns its result, even if it failed.

    `store` is the directory of the repository that it is about, None for none, and `work_tree` the top of its working
    tree. Git runs in the `work_tree` or the `directory`, by default in the current one. `alone` ignores the user's
    settings. Raises GitError if git is missing or too old, GitTimeoutError if it makes no progress. All its processes
    are ended then, and also when krm-merge is interrupted.
    """
    _check_version()
    variables = _environment(store, work_tree, alone=alone) | dict(environment or {})
    return _run(arguments, variables, data, work_tree or directory)


def _run(
    arguments: Sequence[str], environment: Mapping[str, str], data: bytes | None, directory: Path | None
) -> subprocess.CompletedProcess[bytes]:
    require_process_groups("git")
    command = ["git", *arguments]
    limit = _limit()
    pipe = subprocess.PIPE
    process = None
    try:
        # A signal that arrives while git starts would leave a git that nobody knows.
        with interrupts.held():
            # A separate session: all processes that git started can be ended with it.
            process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd=directory, start_new_session=True
            )
        most = _MOST_ANSWERED if any(word in _REMOTE for word in arguments) else None
        with counted_time() as left:
            written, complaints = _exchange(process, data or b"", limit, left, most)
        return subprocess.CompletedProcess(command, process.wait(), written, complaints)
    except FileNotFoundError:
        raise _missing() from None
    except TimeoutError as error:
        raise too_slow(_subject(arguments), is_silent=bool(error.args)) from None
    except BufferError:
        raise GitError(f"{_subject(arguments)} answered more than {_MOST_ANSWERED:,} bytes and was stopped") from None
    finally:
        if process is not None:
            with interrupts.held():
                _end(process, may_finish=not any(command in arguments for command in _WAITING))


def _limit() -> float:
    """The seconds that git may make no progress. Raises GitError."""
    setting = os.environ.get(TIMEOUT_VARIABLE, "")
    try:
        limit = float(setting) if setting else _TIMEOUT
    except ValueError:
        limit = 0
    if limit > 0:
        return limit
    raise GitError(f"{TIMEOUT_VARIABLE} is {quoted(setting)}; a number of seconds is expected")


def _subject(arguments: Sequence[str]) -> str:
    """The command of git, and the repository that it talks to."""
    at = next((at for at, argument in enumerate(arguments) if argument in _REMOTE), None)
    if at is None:
        return f"git {arguments[0]}"
    where = next((argument for argument in arguments[at + 1 :] if not argument.startswith("-")), "")
    return f"{where}: git {arguments[at]}"


def _exchange(
    process: subprocess.Popen[bytes], data: bytes, limit: float, left: float, most: int | None
) -> tuple[bytes, bytes]:
    """Writes git's input and reads stdout and stderr.

    Raises TimeoutError after `left` seconds, or after `limit` seconds without progress, which its argument says; and
    BufferError where git writes more than `most` bytes.
    """
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    assert stdin is not None
    assert stdout is not None
    assert stderr is not None
    chunks: dict[int, list[bytes]] = {stdout.fileno(): [], stderr.fileno(): []}
    results = [chunks[stdout.fileno()], chunks[stderr.fileno()]]
    waiting = memoryview(data)
    with selectors.DefaultSelector() as selector:
        for pipe in (stdout, stderr):
            selector.register(pipe, selectors.EVENT_READ)
        # Or a git that writes before it reads all of its input would wait for us, and we for it.
        os.set_blocking(stdin.fileno(), False)
        selector.register(stdin, selectors.EVENT_WRITE)
        begin = last = time.monotonic()
        size = 0
        while selector.get_map():
            ready = selector.select(max(0.0, min(_TO_END_IN, last + limit - time.monotonic())))
            now = time.monotonic()
            if ready:
                last = now
            # After the last output was read: nothing of it is lost.
            elif process.poll() is not None:
                break  # processes that git left running hold our pipes, but write nothing
            elif now - last >= limit:
                raise TimeoutError("silent")
            if now - begin >= left:
                raise TimeoutError(*([] if size else ["silent"]))
            for key, _ in ready:
                if key.fileobj is stdin:
                    try:
                        waiting = waiting[os.write(key.fd, waiting[:_CHUNK]) :] if waiting else waiting
                    except BrokenPipeError:  # git may end without reading all input
                        waiting = memoryview(b"")
                    if not waiting:
                        selector.unregister(stdin)
                        stdin.close()
                elif part := os.read(key.fd, _CHUNK):
                    chunks[key.fd].append(part)
                    size += len(part)
                    if most is not None and size > most:
                        raise BufferError
                else:
                    selector.unregister(key.fileobj)
    return b"".join(results[0]), b"".join(results[1])


def _end(process: subprocess.Popen[bytes], *, may_finish: bool) -> None:
    """Ends git and its processes, unless it has ended already; leaves all of them time to remove their locks.

    A git that `may_finish` is left some time without a signal: ended, it leaves the object that it was writing.
    """
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            for number in (0, signal.SIGTERM, signal.SIGKILL) if may_finish else (signal.SIGTERM, signal.SIGKILL):
                os.killpg(process.pid, number)
                for _ in range(round(_TO_END_IN / _BETWEEN_LOOKS)):
                    process.poll()
                    os.killpg(process.pid, 0)
                    time.sleep(_BETWEEN_LOOKS)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def start(arguments: Sequence[str], store: Path) -> subprocess.Popen[bytes]:
    """Starts a git that answers each line of its input until stdin is closed. Raises GitError if git is missing."""
    _check_version()
    pipe, silent = subprocess.PIPE, subprocess.DEVNULL
    try:
        return subprocess.Popen(["git", *arguments], stdin=pipe, stdout=pipe, stderr=silent, env=_environment(store))
    except FileNotFoundError:
        raise _missing() from None


def complaint(stderr: bytes) -> str:
    """The first line of git's error message."""
    lines = stderr.decode(errors="replace").strip().splitlines() or ["git failed and did not say why"]
    why = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1])
    return without_credentials(why.removeprefix("fatal: ").removeprefix("error: "))


def _environment(store: Path | None, work_tree: Path | None = None, *, alone: bool = False) -> dict[str, str]:
    """The environment of a git that is about this repository, None for none, wherever it runs."""
    # Without a GIT_DIR git would look for one from the current directory upwards.
    about = {"GIT_DIR": os.devnull if store is None else str(store.absolute())}
    if work_tree is not None:
        about["GIT_WORK_TREE"] = str(work_tree)
    return safe_environment(alone=alone) | about


def safe_environment(*, alone: bool = False) -> dict[str, str]:
    """The environment of a program that calls git on its own, so that no repository in a package is one to git (A1)."""
    # Inside a hook or a merge driver git names its own repository: these calls are about others.
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not (name.startswith("GIT_") if alone else name in _ABOUT_A_REPOSITORY)
    }
    setting = inherited.get("GIT_CONFIG_COUNT", "")
    count = int(setting) if setting.isdecimal() else 0
    safe = _SAFE | (_NO_ATTRIBUTES if alone else {})
    settings = {"GIT_CONFIG_COUNT": str(count + len(safe))}
    for number, (name, value) in enumerate(safe.items(), count):
        settings |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    # Git must not prompt, its messages are parsed, and an object is what its id says.
    fixed = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    # The user may allow fewer (A14).
    allowed = os.environ.get("GIT_ALLOW_PROTOCOL", ":".join(_PROTOCOLS)).split(":")
    fixed["GIT_ALLOW_PROTOCOL"] = ":".join(name for name in _PROTOCOLS if name in allowed)
    return inherited | (_ALONE if alone else {}) | settings | fixed


@cache
def _check_version() -> None:
    """Raises GitError where git is too old to be safe with packages of others."""
    done = _run(["version"], safe_environment(), None, None)
    answer = done.stdout.decode(errors="replace").strip()
    numbers = answer.removeprefix("git version ").split(".")[:2]
    if not all(map(str.isdecimal, numbers)) or tuple(map(int, numbers)) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise GitError(f"{answer.removeprefix('git version ') or 'git'} is too old; install git {oldest} or later")


def _missing() -> GitError:
    return GitError("the program git is not on PATH; install it")


@cache
def _repository_at(top: Path, _number: int) -> subprocess.CompletedProcess[bytes]:
    """Git's answer about the `.git` of this number on the disk: of a thousand packages in a repository, it has one."""
    # Only here git looks for the repository, whose owner it has to trust.
    _check_version()
    where = ["rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel"]
    return _run(where, safe_environment() | {"GIT_CEILING_DIRECTORIES": str(top.parent)}, None, top)


@frozen
class WorkingTree:
    """The working tree of a repository."""

    top: Path
    """Its top directory, without symbolic links on the way."""
    repository: Path
    """The git directory of this working tree."""
    common: Path
    """The git directory that all working trees of the repository share."""

    @classmethod
    def around(cls, folder: Path) -> WorkingTree | None:
        """The nearest working tree that a folder is in, None for none. Raises GitError.

        Only a folder with a `.git` in it is the top of one. No package can bring such a folder along, while one with
        `HEAD`, `objects` and `refs`, which git takes for a repository as well, may be part of any package (A1).
        """
        real = folder.resolve()
        # Not by git itself, which takes bare repositories, too.
        for top in (real, *real.parents):
            if not os.path.lexists(top / ".git"):
                continue
            answer = _repository_at(top, (top / ".git").lstat().st_ino)
            if b"not a git repository" in answer.stderr:
                continue
            if b"must be run in a work tree" in answer.stderr:
                return None
            if answer.returncode != 0:
                raise GitError(complaint(answer.stderr))
            repository, common, named = (Path(os.fsdecode(line)) for line in answer.stdout.splitlines())
            return cls(named.resolve(), repository, common)
        return None

    def output(self, arguments: Sequence[str], data: bytes | None = None) -> bytes:
        """The output of git, run at the top. Raises GitError."""
        return output(arguments, self.repository, data, work_tree=self.top)


HEADS: Final = "refs/heads/"
_LINES = 3
_REFUSED = pattern(rb"^[ \t]*! \[(?:remote )?rejected\].*\(([^()\n]*)\)", re.MULTILINE)


def refusal(stderr: bytes) -> str:
    """The reason for which a branch was not pushed, in git's words, and the server's where it has a rule of its own."""
    refused = _REFUSED.search(stderr)
    if refused is None:
        return complaint(stderr)
    reason = refused[1].decode(errors="replace")
    lines = stderr.decode(errors="replace").splitlines()
    reasons = [
        line.removeprefix("remote: ").removeprefix("error: ").strip() for line in lines if line.startswith("remote: ")
    ]
    reasons = [line for line in reasons if line]
    return f"{reason}: {'; '.join(reasons[:_LINES])}" if reasons and reason.endswith("declined") else reason


def list_refs(url: str, names: Iterable[str], credentials: Credentials = NO_CREDENTIALS) -> tuple[dict[str, str], str]:
    """The commits of the refs that names and patterns mean, and with `HEAD` the default branch, '' for none.

    Raises GitError.
    """
    if url.startswith("-"):
        raise GitError(f"{url} is not the address of a git repository")
    arguments = ["ls-remote", "--quiet", "--symref", "--end-of-options", url, *names]
    answer = output([*credentials.options, *arguments], environment=credentials.environment)
    commits: dict[str, str] = {}
    default = ""
    for line in answer.decode().splitlines():
        value, _, name = line.partition("\t")
        if not value.startswith("ref: "):
            commits[name] = value
        elif name == "HEAD":
            default = value.removeprefix(f"ref: {HEADS}")
    return commits, default
