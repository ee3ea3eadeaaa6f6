"""What GitHub says of pull requests."""

from __future__ import annotations

import re
from typing import Any

from forges.fake_forge import NOT_FOUND, Answer, FakeForge, FakeRepository, Json, Pull, Quota, Refusal, Seen, is_change


class FakeGitHub(FakeForge):
    """`prefix` is /api/v3 for one that is an Enterprise."""

    def usual_quotas(self) -> list[Quota]:
        """Source: "Rate limits for the REST API" and "for the GraphQL API" in https://docs.github.com."""
        core = Quota(5000, 3600, lambda seen: not seen.path.endswith("/graphql"))
        graphql = Quota(5000, 3600, lambda seen: seen.path.endswith("/graphql"))
        return [
            core,
            graphql,
            Quota(80, 60, is_change, is_secondary=True),
            Quota(500, 3600, is_change, is_secondary=True),
        ]

    def _answer(self, seen: Seen) -> Answer:
        if (owned := self._repositories_of(seen, r"/users/([^/]+)/repos", "clone_url")) is not None:
            return owned
        if seen.path == f"{self.prefix.removesuffix('/v3')}/graphql":
            return 200, {}, self._graphql(seen.body)
        match = re.fullmatch(re.escape(self.prefix) + r"/(?:repos/([^/]+/[^/]+)|repositories/(\d+))(/.*)?", seen.path)
        if match is None:
            raise NOT_FOUND
        name, rest = match[1] or self._numbered(match[2]), match[3] or ""
        if name in self.moved or self.elsewhere:
            return self._redirect(seen, f"/repositories/{self._number_of(name)}{rest}")
        if name not in self.repositories:
            raise NOT_FOUND
        if not rest:
            return 200, {}, {"id": self._number_of(name), "full_name": name}
        rest = rest.removeprefix("/")
        self.repositories[name].refresh()
        return self._on(name, self.repositories[name], rest, seen)

    def _on(self, name: str, repository: FakeRepository, rest: str, seen: Seen) -> Answer:
        if rest == "pulls" and seen.method == "POST":
            return 201, {}, self._json_of(name, self._create(name, repository, seen.body))
        if rest == "pulls":
            owner = name.partition("/")[0]
            pulls = [pull for pull in repository.pulls if _is_wanted(pull, owner, seen.query)]
            newest_first = seen.query.get("direction", "desc") == "desc"
            entries = [self._json_of(name, pull) for pull in (reversed(pulls) if newest_first else pulls)]
            return self._page(seen, entries)
        if match := re.fullmatch(r"commits/(\w+)(/[\w-]+)?", rest):
            return 200, {}, self._commit(name, repository, match[1], match[2])
        match = re.fullmatch(r"(pulls|issues)/(\d+)(/\w+)?", rest)
        pull = next((each for each in repository.pulls if match and each.number == int(match[2])), None)
        if match is None or pull is None:
            raise NOT_FOUND
        match seen.method, match[1], match[3]:
            case "GET", "pulls", None:
                return 200, {}, self._json_of(name, pull)
            case "PATCH", "pulls", None:
                for field_name in seen.body.keys() & {"title", "body", "state"}:
                    setattr(pull, field_name, seen.body[field_name])
                return 200, {}, self._json_of(name, pull)
            case "GET", "pulls", "/files":
                listed = [{"filename": new, **({"previous_filename": old} if old else {})} for new, old in pull.files]
                return self._page(seen, listed)
            case "GET", "issues", None:
                return 200, {}, {"number": pull.number, "url": f"{self.api}/repos/{name}/issues/{pull.number}"}
            case "POST", "issues", "/labels":
                pull.labels += seen.body["labels"] if isinstance(seen.body, dict) else seen.body
                return 200, {}, [{"name": label} for label in pull.labels]
            case "POST", "issues", "/assignees":
                pull.assignees += seen.body["assignees"]
                return 201, {}, {"number": pull.number}
            case "POST", "pulls", "/requested_reviewers":
                pull.reviewers += [*seen.body["reviewers"], *seen.body["team_reviewers"]]
                return 201, {}, self._json_of(name, pull)
            case "GET", "issues", "/comments":
                return self._page(seen, [{"body": text} for text in pull.comments])
            case "POST", "issues", "/comments":
                pull.comments.append(seen.body["body"])
                return 201, {}, {"body": seen.body["body"]}
        raise NOT_FOUND

    def _create(self, name: str, repository: FakeRepository, body: Json) -> Pull:
        if body["draft"] and not repository.drafts:
            raise Refusal(422, {"message": "Draft pull requests are not supported in this repository."})
        source, target = body["head"], body["base"]
        for place, branch in (("head", source), ("base", target)):
            if branch not in repository.branches:
                flaw = {"resource": "PullRequest", "field": place, "code": "invalid"}
                raise Refusal(422, {"message": "Validation Failed", "errors": [flaw]})
        problem = ""
        if repository.branches[source][0] == repository.branches[target][0]:
            problem = f"No commits between {target} and {source}"
        elif repository.existing(source, target):
            problem = f"A pull request already exists for {name.partition('/')[0]}:{source}."
        if problem:
            error = {"resource": "PullRequest", "code": "custom", "message": problem}
            raise Refusal(422, {"message": "Validation Failed", "errors": [error]})
        return repository.open_pull(source, target, body["title"], body["body"], draft=body["draft"])

    def _graphql(self, body: Json) -> Json:
        name, _, number = body["variables"]["input"]["pullRequestId"].removeprefix("PR_").partition("#")
        pull = self.repositories[name].pulls[int(number) - 1]
        to_draft = "convertPullRequestToDraft" in body["query"]
        operation = "convertPullRequestToDraft" if to_draft else "markPullRequestReadyForReview"
        if operation not in body["query"]:
            return {"errors": [{"message": "Field does not exist on type 'Mutation'"}]}
        if pull.state != "open":
            return {"data": None, "errors": [{"type": "UNPROCESSABLE", "message": "Pull request is closed"}]}
        pull.draft = to_draft
        return {"data": {operation: {"clientMutationId": None, "pullRequest": {"isDraft": to_draft}}}}

    def _commit(self, name: str, repository: FakeRepository, commit: str, about: str | None) -> Json:
        """A commit, the runs of its checks, or the states that others gave it: capital letters are a state."""
        checks = next((pull.checks for pull in repository.pulls if pull.head == commit), "")
        if about == "/check-runs":
            runs = [{"conclusion": checks or None}] if checks.islower() else []
            return {"total_count": len(runs), "check_runs": runs}
        if about == "/status":
            return {"state": checks.lower() or "pending", "total_count": int(checks.isupper())}
        return {"sha": commit, "url": f"{self.api}/repos/{name}/commits/{commit}"}

    def _json_of(self, name: str, pull: Pull) -> Json:
        of_fork = None if pull.fork == "" else {"full_name": f"{pull.fork}/fork"}
        head_repository = {"full_name": name} if pull.fork is None else of_fork
        return {
            "number": pull.number,
            "node_id": f"PR_{name}#{pull.number}",
            "url": f"{self.api}/repos/{name}/pulls/{pull.number}",
            "state": pull.state,
            "draft": pull.draft,
            "title": pull.title,
            "body": pull.body,
            "user": None if pull.author is None else {"login": pull.author},
            "merged_at": pull.merged_at if pull.merged else None,
            # Of what is not merged, GitHub shows a commit that was made to try it.
            "merge_commit_sha": pull.merged or "e" * 40,
            "changed_files": len(pull.files),
            "head": {
                "ref": pull.source,
                "sha": pull.head,
                "repo": head_repository,
                "user": {"login": pull.fork} if pull.fork else None,
            },
            "base": {"ref": pull.target, "sha": "0" * 40, "repo": {"full_name": name}, "user": None},
        }


def _is_wanted(pull: Pull, owner: str, query: dict[str, Any]) -> bool:
    state, head, base = query.get("state", "open"), query.get("head", ""), query.get("base", "")
    whose = owner if pull.fork is None else pull.fork
    return state in ("all", pull.state) and head in ("", f"{whose}:{pull.source}") and base in ("", pull.target)
