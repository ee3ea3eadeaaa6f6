"""Pull requests of many repositories, in few requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forges.connected import HOSTED, Time, connect
from forges.fake_forge import TOKEN, FakeForge, FakeRepository, Fault
from krm_merge.forges.interface import ForgeError

COUNT = 400


@pytest.fixture(params=[*HOSTED])
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def server(kind: str) -> Iterator[FakeForge]:
    with HOSTED[kind].server(TOKEN) as server:
        for number in range(COUNT):
            repository = server.repositories[f"acme/r{number}"] = FakeRepository()
            repository.push("ours", "a.yaml")
            repository.open_pull("ours", "main", "old", "", draft=False).state = "closed"
            repository.open_pull("ours", "main", f"of {number}", "body", draft=False)
            repository.open_pull("other", "main", "other", "", draft=False)
        yield server


def addresses(kind: str, *numbers: int) -> list[str]:
    return [f"https://{HOSTED[kind].host}/acme/r{number}.git" for number in numbers]


def test_the_history_of_many(server: FakeForge, kind: str) -> None:
    count = COUNT if kind != "forgejo" else 20
    time = Time()
    forge = connect(server, time, kind=kind)
    pulls = forge.pull_requests_in(addresses(kind, *range(count)), "ours")
    assert [*pulls] == addresses(kind, *range(count))
    assert [(pull.state, pull.title) for pull in pulls[addresses(kind, 7)[0]]] == [("closed", "old"), ("open", "of 7")]
    # 10,000 open ones take fewer than 300.
    assert len(server.seen) <= {"github": COUNT / 50, "gitlab": 2 * COUNT / 100, "forgejo": 2 * count}[kind]
    assert time.slept == []


def test_one_that_is_hidden_says_nothing_of_others(server: FakeForge, kind: str) -> None:
    hidden = addresses(kind, 1)[0]
    del server.repositories["acme/r1"]
    answers = connect(server, Time(), kind=kind).pull_requests_in(addresses(kind, *range(30)), "ours")
    assert [len(answers[address]) for address in addresses(kind, 0, 2)] == [2, 2]
    # GitLab's list lacks it; whether it is hidden is asked where one was open.
    assert answers[hidden] == [] if kind == "gitlab" else isinstance(answers[hidden], ForgeError)


def test_forks_do_not_hide_ours(server: FakeForge, kind: str) -> None:
    for number in range(9):
        server.repositories["acme/r0"].open_pull("ours", "main", f"{number}", "", draft=False, fork="stranger")
    answers = connect(server, Time(), kind=kind).pull_requests_in(addresses(kind, *range(30)), "ours")
    assert [[pull.number for pull in answers[address]] for address in addresses(kind, 0, 1)] == [[1, 2], [1, 2]]


def test_hidden_ones_cost_no_reads_of_others() -> None:
    with HOSTED["github"].server(TOKEN) as server:
        for number in range(100):
            server.repositories[f"acme/r{number}"] = FakeRepository()
        for number in (3, 70):
            del server.repositories[f"acme/r{number}"]
        pulls = connect(server, Time()).pull_requests_in(addresses("github", *range(100)), "ours")
        assert sum(isinstance(answer, ForgeError) for answer in pulls.values()) == 2
        assert len(server.seen) == 4


def test_an_answer_that_is_lost_is_asked_for_again(server: FakeForge, kind: str) -> None:
    server.faults.append(Fault(broken="cut"))
    answers = connect(server, Time(), kind=kind).pull_requests_in(addresses(kind, 0), "ours")
    assert len(answers[addresses(kind, 0)[0]]) == 2


@pytest.mark.parametrize(
    "fault",
    [
        Fault(403, body={"message": "You have triggered an abuse detection mechanism."}, method="POST"),
        Fault(422, body={"message": "Validation Failed", "errors": ["was submitted too quickly"]}, method="POST"),
    ],
)
def test_limits_without_a_header_wait(server: FakeForge, kind: str, fault: Fault) -> None:
    time = Time()
    server.faults.append(Fault(**vars(fault)))
    server.repositories["acme/r1"].push("more")
    forge = connect(server, time, kind=kind)
    assert forge.create(addresses(kind, 1)[0], "more", "main", "Title", "Body", draft=False).state == "open"
    assert time.slept == [60.0]
