"""What GitLab says of merge requests: drafts are titles, and numbers are called iid."""

from __future__ import annotations

import re
from typing import ClassVar
from urllib.parse import unquote

from forges.fake_forge import NOT_FOUND, TOKEN, Answer, FakeForge, FakeRepository, Json, Pull, Quota, Refusal, Seen

_PROJECT = 42
_MARK = "Draft: "


class FakeGitLab(FakeForge):
    limit_header: ClassVar = "RateLimit-"

    def __init__(self, token: str = TOKEN, prefix: str = "/api/v4", page: int = 100) -> None:
        super().__init__(token, prefix, page)

    def usual_quotas(self) -> list[Quota]:
        """Source: "GitLab.com-specific rate limits" in https://docs.gitlab.com."""
        return [Quota(2000, 60)]

    def _answer(self, seen: Seen) -> Answer:
        if (owned := self._repositories_of(seen, r"/groups/([^/]+)/projects", "http_url_to_repo")) is not None:
            return owned
        if seen.path == f"{self.prefix}/users":
            name = seen.query["username"]
            return 200, {}, [] if name == "nobody" else [{"id": _id_of(name), "username": name}]
        match = re.fullmatch(
            re.escape(self.prefix) + r"/projects/([^/]+)(/merge_requests(?:/(\d+)(?:/(\w+))?)?)?", seen.path
        )
        if match is None:
            raise NOT_FOUND
        name, rest, number, what = unquote(match[1]), match[2] or "", match[3], match[4] or ""
        if (name in self.moved and seen.method == "GET") or self.elsewhere:
            return self._redirect(seen, f"/projects/{self._number_of(name)}{rest}")
        if name in self.moved:
            # Source: `find_project!` in lib/api/helpers.rb of https://gitlab.com/gitlab-org/gitlab.
            raise Refusal(405, {"message": "405 Non GET methods are not allowed for moved projects"})
        name = self._numbered(name) if name.isdecimal() else name
        if name not in self.repositories:
            raise Refusal(404, {"message": "404 Project Not Found"})
        if not rest:
            return 200, {}, {"id": self._number_of(name), "path_with_namespace": name}
        repository = self.repositories[name]
        repository.refresh()
        if number is None:
            return self._all(repository, seen)
        pull = next((each for each in repository.pulls if each.number == int(number)), None)
        if pull is None:
            raise NOT_FOUND
        return self._answer_on(pull, what, seen)

    def _all(self, repository: FakeRepository, seen: Seen) -> Answer:
        if seen.method == "POST":
            return 201, {}, _json_of(_create(repository, seen.body))
        pulls = [pull for pull in repository.pulls if _is_wanted(pull, seen.query)]
        newest_first = seen.query.get("sort", "desc") == "desc"
        return self._page(seen, [_json_of(pull) for pull in (reversed(pulls) if newest_first else pulls)])

    def _answer_on(self, pull: Pull, what: str, seen: Seen) -> Answer:
        match seen.method, what:
            case "GET", "":
                return 200, {}, _json_of(pull)
            case "PUT", "":
                if "title" in seen.body:
                    pull.title, pull.draft = seen.body["title"].removeprefix(_MARK), _is_draft(seen.body["title"])
                pull.body = seen.body.get("description", pull.body)
                pull.labels += filter(None, seen.body.get("add_labels", "").split(","))
                names = {_id_of(name): name for name in ("kim", "sam")}
                pull.reviewers = [names[number] for number in seen.body.get("reviewer_ids", [])] or pull.reviewers
                pull.assignees = [names[number] for number in seen.body.get("assignee_ids", [])] or pull.assignees
                if seen.body.get("state_event") == "close":
                    pull.state = "closed"
                return 200, {}, _json_of(pull)
            case "GET", "diffs":
                return self._page(seen, [{"new_path": new, "old_path": old or new} for new, old in pull.files])
            case "GET", "notes":
                notes = [{"body": text, "system": False} for text in pull.comments]
                # GitLab itself says there what was done.
                notes.append({"body": "marked this merge request as draft", "system": True})
                return self._page(seen, list(reversed(notes)))
            case "POST", "notes":
                pull.comments.append(seen.body["body"])
                return 201, {}, {"id": 1, "body": seen.body["body"], "system": False}
        raise NOT_FOUND


def _id_of(name: str) -> int:
    return int.from_bytes(name.encode())


def _create(repository: FakeRepository, body: Json) -> Pull:
    source, target, title = body["source_branch"], body["target_branch"], body["title"]
    if source == target:
        raise Refusal(422, {"message": ["You can't use same project/branch for source and target"]})
    for place, branch in (("source_branch", source), ("target_branch", target)):
        if branch not in repository.branches:
            raise Refusal(400, {"message": {place: [f'"{branch}" does not exist']}})
    if existing := repository.existing(source, target):
        problem = f"Another open merge request already exists for this source branch: !{existing.number}"
        raise Refusal(409, {"message": [problem]})
    return repository.open_pull(source, target, title.removeprefix(_MARK), body["description"], draft=_is_draft(title))


def _is_draft(title: str) -> bool:
    return title.startswith(_MARK)


def _is_wanted(pull: Pull, query: dict[str, str]) -> bool:
    state = {"opened": "open"}.get(query.get("state", "all"), query.get("state", "all"))
    branches = query.get("source_branch", pull.source), query.get("target_branch", pull.target)
    return state in ("all", pull.state) and branches == (pull.source, pull.target)


def _json_of(pull: Pull) -> Json:
    fork = None if pull.fork == "" else 7
    return {
        "id": 1000 + pull.number,
        "iid": pull.number,
        "state": "merged" if pull.merged else {"open": "opened"}.get(pull.state, pull.state),
        "draft": pull.draft,
        "title": f"{_MARK if pull.draft else ''}{pull.title}",
        "description": pull.body,
        "author": None if pull.author is None else {"username": pull.fork or pull.author},
        "merged_at": pull.merged_at.replace("Z", ".678Z") if pull.merged else None,
        "merge_commit_sha": pull.merged or None,
        "squash_commit_sha": None,
        "sha": pull.head,
        "reviewers": [{"id": _id_of(name)} for name in pull.reviewers],
        "assignees": [{"id": _id_of(name)} for name in pull.assignees],
        "head_pipeline": {"status": pull.checks} if pull.checks else None,
        "source_branch": pull.source,
        "target_branch": pull.target,
        "source_project_id": _PROJECT if pull.fork is None else fork,
        "target_project_id": _PROJECT,
    }
