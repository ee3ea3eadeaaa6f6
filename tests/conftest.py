"""What all tests share: which of them can run here, how to repeat one, their surroundings, the image under test."""

import functools
import gc
import os
import re
import shlex
import shutil
import signal
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
import yaml

from checkout import ROOT
from effort import SEED

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage

IN_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}
LOCAL_BASES = ("localhost/python-base:bookworm", "localhost/python-build:bookworm")
ENGINE_REMEDY = 'install Docker and start it, or as root on Debian: eval "$(tools/local-engine bases)"'

SHOWN_BY_THE_PAGE = re.compile(
    r"status of (409|422)|ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE)"
    r"|status of 404 .*/api/(change|context)\?"
)
"""What the browser logs of answers that a page shows itself, or that it does without: an undo ends a card while the
page asks for its context or commit.
"""

SETTINGS = re.compile(
    r"CI|PATH|PYTHONPATH|PYTHONDONTWRITEBYTECODE|LD_LIBRARY_PATH|TMPDIR|(?:COV_CORE|COVERAGE|DOCKER|PYTEST)_\w+"
    r"|KRM_MERGE_(?:BASE|BUILD_BASE|CHROMIUM|IMAGE|PICTURES|SEED)|KPT_E2E_UPDATE_EXPECTED|WRITE_GOLDEN_OUTPUT"
)
"""The variables of whoever runs the tests that these heed."""

OF_POSIX = [getattr(signal, name) for name in ("SIGHUP", "SIGPIPE", "SIGALRM", "SIGPROF") if hasattr(signal, name)]

# By libyaml `yaml.safe_load` and `safe_dump` take a tenth of the time: most of what a test of a long list took.
yaml.SafeLoader = yaml.CSafeLoader  # type: ignore[misc,assignment]
yaml.SafeDumper = yaml.CSafeDumper  # type: ignore[misc,assignment]

# A gigabyte of small files: in memory where it has room for them, and programs can be started from it.
MEMORY = "/dev/shm"
if os.access(MEMORY, os.W_OK):
    room = os.statvfs(MEMORY)
    if room.f_bavail * room.f_frsize > 4 << 30 and not room.f_flag & os.ST_NOEXEC:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)

# The processes that share the tests begin with it.
os.environ["PYTHONHASHSEED"] = "0"


@pytest.fixture(scope="session", autouse=True)
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same for everybody: no settings of people, programs, terminals and languages, an empty home."""
    docker = Path.home() / ".docker"
    for name in [name for name in os.environ if not SETTINGS.fullmatch(name)]:
        del os.environ[name]
    os.environ |= {
        # Tests and examples call `krm-merge` by its name.
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path_factory.mktemp("home")),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        # Repositories of tests need no examples of hooks: fifteen files each, which cost more than all else in them.
        "GIT_TEMPLATE_DIR": "",
        # Nor a process after each commit that looks whether there is much to pack.
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "maintenance.auto",
        "GIT_CONFIG_VALUE_0": "false",
    }
    if docker.is_dir():
        os.environ.setdefault("DOCKER_CONFIG", str(docker))
    os.umask(0o022)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis follows the seed, too."""
    if SEED:
        config.option.hypothesis_seed = SEED


def pytest_report_header(config: pytest.Config) -> list[str]:
    """What cannot run here, and how to get it."""
    chosen = [name for name in PREREQUISITES if f"not {name}" not in config.option.markexpr]
    return [f"left out, {name}: {reason}" for name in chosen if (reason := PREREQUISITES[name]())]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Twice as many as there are processors: tests wait for what they started, and the last ones are long.

    More take longer: each finds all tests on its own.
    """
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return processors * 2


@functools.cache
def missing_kpt() -> str | None:
    """Why tests marked `kpt` cannot run here; None where they can."""
    if shutil.which("kpt"):
        return None
    return "kpt is not on PATH; install it: https://kpt.dev/installation"


@functools.cache
def missing_engine() -> str | None:
    """Why tests marked `docker` cannot run here; None where they can."""
    import docker

    try:
        client = docker.from_env()
        client.ping()
        client.close()
    except docker.errors.DockerException as error:
        reason = f"no Docker engine answers ({error}); {ENGINE_REMEDY}"
    else:
        return None
    with warnings.catch_warnings():
        # The client that could not be made leaves its socket open: not the fault of the test that comes next.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    return reason


@functools.cache
def missing_kubectl() -> str | None:
    """Why tests marked `kubectl` cannot run here; None where they can."""
    if shutil.which("kubectl"):
        return None
    return "kubectl is not on PATH; install it: https://kubernetes.io/docs/tasks/tools"


@functools.cache
def chromium() -> str | None:
    """The browser of tests marked `browser`: the one that KRM_MERGE_CHROMIUM names, else one on PATH."""
    setting = os.environ.get("KRM_MERGE_CHROMIUM")
    names = [setting] if setting else ["chromium", "chromium-browser", "google-chrome"]
    return next((path for name in names if (path := shutil.which(name))), None)


def missing_browser() -> str | None:
    """Why tests marked `browser` cannot run here; None where they can."""
    if chromium():
        return None
    return "Chromium is not on PATH; on Debian: apt-get install chromium; elsewhere name one in KRM_MERGE_CHROMIUM"


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is kept between runs is not kept among the files of whoever runs the tests."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """The browser, for tests marked `browser`."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # The sandbox of the browser needs rights that containers do not have.
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def context(browser: "Browser") -> Iterator["BrowserContext"]:
    """A window of the browser, as wide as a laptop's."""
    from resolve.browsing import window

    context = window(browser)
    yield context
    context.close()


def console_text(message: "ConsoleMessage") -> str:
    """What the browser logs, with the address that it is about."""
    return f"{message.text} {message.location['url']}"


@pytest.fixture
def messages(context: "BrowserContext") -> Iterator[list[str]]:
    """Errors in the console, and requests to anybody else: there must be none."""
    texts: list[str] = []
    context.on("console", lambda message: texts.append(console_text(message)) if message.type != "log" else None)
    context.on("weberror", lambda error: texts.append(str(error.error)))
    context.on("request", lambda request: texts.append(request.url) if "//127.0.0.1:" not in request.url else None)
    yield texts
    assert [text for text in texts if not SHOWN_BY_THE_PAGE.search(text)] == []


def missing_shells() -> str | None:
    """Why completion cannot be tried in the shells that have it, or None."""
    absent = [name for name in ("zsh", "fish") if not shutil.which(name)]
    return f"{' and '.join(absent)} not on PATH" if absent else None


PREREQUISITES: dict[str, Callable[[], str | None]] = {
    "kpt": missing_kpt,
    "docker": missing_engine,
    "kubectl": missing_kubectl,
    "browser": missing_browser,
    "shells": missing_shells,
}
# CI does not install kubectl, and zsh and fish only where it may.
NEVER_SKIPPED_IN_CI = ("kpt", "docker", "browser")


def needs_prerequisite(item: pytest.Item) -> bool:
    """Whether the test carries one of the markers that must not be skipped in CI."""
    return any(item.get_closest_marker(name) for name in NEVER_SKIPPED_IN_CI)


LONG = (
    "cli/commands/test_compare.py",
    "cli/commands/test_components_on_",
    "cli/commands/test_names_from_git.py",
    "cli/commands/test_remembered_choices.py",
    "cli/commands/test_resolve.py::test_a_killed_server",
    "cli/terminal/test_merge_output.py",
    "cli/test_surroundings.py",
    "components/execution/",
    "components/plan/planner/test_lives.py",
    "e2e/",
    "fleet/",
    "kills/",
    "merge/test_law_n.py",
    "packages/files/journal/test_edited_meanwhile.py",
    "packages/files/journal/test_whole_after_a_failure.py",
    "packages/merge/test_never_worse_than_git.py",
    "packages/test_hostile_trees.py::test_a_bomb",
    "patch/strategic/test_kubectl.py",
    "resolve/page/",
    "test_docs.py::test_every_help",
    "test_docs.py::test_sessions_print",
    "test_growth.py",
    "test_patterns.py",
    "vendored/test_growth.py",
    "vendored/test_guide.py",
)
"""Tests that take two thirds of the time of all: programs beside each other, kills, browsers, forges, proportions."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests that ask for the image, and long ones; first, so that `-m docker` selects them."""
    for item in items:
        if item.nodeid.removeprefix("tests/").startswith(LONG):
            item.add_marker("long")
        # A parameter may have the same name: then nobody builds one.
        parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if "image" in getattr(item, "fixturenames", ()) and "image" not in parameters:
            item.add_marker("docker")
    items[:] = in_shares(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def in_shares(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """In the shares that xdist gives to workers first, each with as many long tests at its start.

    At the end of a run, short ones are left to share: nobody waits for a long one that came last.
    """
    kinds = [[item for item in items if bool(item.get_closest_marker("long")) is is_long] for is_long in (True, False)]
    return [
        item
        for worker in range(workers)
        # Neighbours together, as they share what was set up for their module.
        for tests in kinds
        for item in tests[worker * len(tests) // workers : (worker + 1) * len(tests) // workers]
    ]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """No test sees the directory, the mask or the handlers of signals that another one left."""
    folder, mask = os.getcwd(), os.umask(0o022)
    os.umask(mask)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, *OF_POSIX)}
    try:
        return (yield)
    finally:
        os.chdir(folder)
        os.umask(mask)
        for number, handler in handlers.items():
            # One that Python did not set cannot be set by it.
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for name, missing in PREREQUISITES.items():
        if item.get_closest_marker(name) and (reason := missing()):
            pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """How to repeat a failure; in CI a test that must not be skipped and was, by whatever means, counts as one."""
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail") and needs_prerequisite(item):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} must not be skipped in CI. {reason}"
    if report.failed:
        report.sections.append(("to repeat it", repetition(item.nodeid)))
    return report


def repetition(nodeid: str) -> str:
    """The command that runs this test alone as it ran here."""
    environment = {name: os.environ[name] for name in ("CI", "KRM_MERGE_SEED") if name in os.environ}
    words = [f"{name}={value}" for name, value in {"PYTHONHASHSEED": "0", **environment}.items()]
    return shlex.join([*words, os.path.relpath(Path(sys.executable).parent / "pytest", ROOT), "-n", "0", nodeid])


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """In CI a file skipped as a whole counts as failed too: its markers are never seen."""
    report = yield
    if IN_CI and report.outcome == "skipped":
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} must not be skipped in CI. {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def image() -> str:
    """Name of the image under test: KRM_MERGE_IMAGE, or one built now on KRM_MERGE_BASE and KRM_MERGE_BUILD_BASE."""
    import docker

    client = docker.from_env()
    try:
        if name := os.environ.get("KRM_MERGE_IMAGE"):
            if not image_exists(client, name):
                cannot_build(f"the image {name} of KRM_MERGE_IMAGE does not exist; build it: make image IMAGE={name}")
            return name
        return build_image(client, "localhost/krm-merge:test")
    finally:
        client.close()


@pytest.fixture(scope="session")
def plugins_image(image: str) -> str:
    """Name of the image under test with a shell, the base of images with plugins; built from the working tree."""
    import docker

    client = docker.from_env()
    try:
        return build_image(client, f"{image}-plugins", target="plugins")
    finally:
        client.close()


@pytest.fixture(scope="session")
def bases() -> dict[str, str]:
    """The build arguments BASE and BUILD_BASE of the image under test; none for the Dockerfile's own base."""
    import docker

    client = docker.from_env()
    try:
        return base_images(client)
    finally:
        client.close()


def build_image(client: Any, tag: str, target: str = "function") -> str:
    """Build a target of the repository's Dockerfile under `tag`, or skip the test where the base image is missing."""
    import docker

    try:
        client.images.build(path=str(ROOT), tag=tag, target=target, buildargs=base_images(client), rm=True)
    except docker.errors.BuildError as error:
        log = "".join(line.get("stream", "") for line in error.build_log)
        pytest.fail(f"docker build failed: {error}\n{log[-4000:]}", pytrace=False)
    return tag


def base_images(client: Any) -> dict[str, str]:
    """Build arguments: the bases that the environment names, else the Dockerfile's own, else the local ones."""
    import docker

    if base := os.environ.get("KRM_MERGE_BASE"):
        return {"BASE": base, "BUILD_BASE": os.environ.get("KRM_MERGE_BUILD_BASE") or base}
    default = next(
        line.removeprefix("ARG BASE=")
        for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
        if line.startswith("ARG BASE=")
    )
    if image_exists(client, default):
        return {}
    if all(image_exists(client, name) for name in LOCAL_BASES):
        return dict(zip(("BASE", "BUILD_BASE"), LOCAL_BASES, strict=True))
    try:
        client.images.pull(default)
    except docker.errors.APIError as error:
        cannot_build(
            f"the base image {default} cannot be pulled ({error.explanation or error}); "
            'make local ones, as root on Debian: eval "$(tools/local-engine bases)"'
        )
    return {}


def image_exists(client: Any, name: str) -> bool:
    """Whether the engine holds an image of this name."""
    import docker

    try:
        client.images.get(name)
    except docker.errors.ImageNotFound:
        return False
    return True


def cannot_build(reason: str) -> NoReturn:
    """Skip for want of an image; in CI the report hook above turns that into a failure."""
    pytest.skip(reason)
