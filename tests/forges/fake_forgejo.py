"""What Forgejo says of pull requests: drafts are titles, and lists have no filter for branches."""

from __future__ import annotations

import re
from typing import ClassVar

from forges.fake_forge import NOT_FOUND, TOKEN, Answer, FakeForge, FakeRepository, Json, Pull, Refusal, Seen

_MARK = "WIP: "


class FakeForgejo(FakeForge):
    page_parameter: ClassVar = "limit"

    def __init__(self, token: str = TOKEN, prefix: str = "/api/v1", page: int = 50) -> None:
        super().__init__(token, prefix, page)

    def _answer(self, seen: Seen) -> Answer:
        if (owned := self._repositories_of(seen, r"/orgs/([^/]+)/repos", "clone_url")) is not None:
            return owned
        if checked := re.fullmatch(re.escape(self.prefix) + r"/repos/([^/]+/[^/]+)/commits/(\w+)/status", seen.path):
            checks = next(pull.checks for pull in self.repositories[checked[1]].pulls if pull.head == checked[2])
            return 200, {}, {"state": checks, "total_count": 1 if checks else 0}
        match = re.fullmatch(
            re.escape(self.prefix) + r"/repos/([^/]+/[^/]+)/(pulls|issues)(?:/(\d+)(?:/(\w+))?)?", seen.path
        )
        if match is None:
            raise NOT_FOUND
        name, number, what = match[1], match[3], match[4] or ""
        if name in self.moved or self.elsewhere:
            rest = seen.path.removeprefix(f"{self.prefix}/repos/{name}")
            return self._redirect(seen, f"/repos/{self.moved.get(name, name)}{rest}")
        if name not in self.repositories:
            raise Refusal(404, {"message": "The target couldn't be found.", "errors": None})
        repository = self.repositories[name]
        repository.refresh()
        if number is None:
            return self._all(name, repository, seen)
        pull = next((each for each in repository.pulls if each.number == int(number)), None)
        if pull is None:
            raise NOT_FOUND
        return self._answer_on(name, pull, what, seen)

    def _all(self, name: str, repository: FakeRepository, seen: Seen) -> Answer:
        if seen.method == "POST":
            return 201, {}, _json_of(name, _create(repository, seen.body))
        pulls = [pull for pull in repository.pulls if seen.query.get("state", "open") in ("all", pull.state)]
        newest_first = seen.query.get("sort", "") != "oldest"
        return self._page(seen, [_json_of(name, pull) for pull in (reversed(pulls) if newest_first else pulls)])

    def _answer_on(self, name: str, pull: Pull, what: str, seen: Seen) -> Answer:
        match seen.method, what:
            case "GET", "":
                return 200, {}, _json_of(name, pull)
            case "PATCH", "":
                if "title" in seen.body:
                    pull.title, pull.draft = seen.body["title"].removeprefix(_MARK), _is_draft(seen.body["title"])
                pull.assignees = seen.body.get("assignees", pull.assignees)
                pull.body, pull.state = seen.body.get("body", pull.body), seen.body.get("state", pull.state)
                return 201, {}, _json_of(name, pull)
            case "POST", "labels":
                pull.labels += seen.body["labels"]
                return 200, {}, []
            case "POST", "requested_reviewers":
                pull.reviewers += [*seen.body["reviewers"], *seen.body["team_reviewers"]]
                return 201, {}, []
            case "GET", "files":
                listed = [{"filename": new, **({"previous_filename": old} if old else {})} for new, old in pull.files]
                return self._page(seen, listed)
            case "GET", "comments":
                return 200, {}, [{"body": text} for text in pull.comments]
            case "POST", "comments":
                pull.comments.append(seen.body["body"])
                return 201, {}, {"body": seen.body["body"]}
        raise NOT_FOUND


def _create(repository: FakeRepository, body: Json) -> Pull:
    source, target, title = body["head"], body["base"], body["title"]
    for branch in (source, target):
        if branch not in repository.branches:
            raise Refusal(404, {"message": "The target couldn't be found.", "errors": [f"{branch} does not exist"]})
    if source == target:
        raise Refusal(422, {"message": "Invalid PullRequest: There are no changes between the head and the base"})
    if existing := repository.existing(source, target):
        raise Refusal(409, {"message": f"pull request already exists for these targets [id: {existing.number}]"})
    return repository.open_pull(source, target, title.removeprefix(_MARK), body["body"], draft=_is_draft(title))


def _is_draft(title: str) -> bool:
    return title.startswith(_MARK)


def _json_of(name: str, pull: Pull) -> Json:
    of_fork = None if pull.fork == "" else {"full_name": f"{pull.fork}/fork", "owner": {"login": pull.fork}}
    repository = {"full_name": name, "owner": {"login": name.partition("/")[0]}}
    return {
        "number": pull.number,
        "state": pull.state,
        "draft": pull.draft,
        "title": f"{_MARK if pull.draft else ''}{pull.title}",
        "body": pull.body,
        "user": None if pull.author is None else {"login": pull.author},
        "assignees": [{"login": name} for name in pull.assignees],
        "merged": bool(pull.merged),
        "merged_at": pull.merged_at if pull.merged else None,
        "merge_commit_sha": pull.merged or None,
        "head": {"ref": pull.source, "sha": pull.head, "repo": repository if pull.fork is None else of_fork},
        "base": {"ref": pull.target, "sha": "0" * 40, "repo": repository},
    }
