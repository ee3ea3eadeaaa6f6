"""Records of pull requests without a forge, and their format in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from krm_merge.forges.interface import ForgePullRequest, PullRequestState


@dataclass(frozen=True, slots=True)
class PostedComment:
    """A comment on a pull request."""

    author: str
    text: str


@dataclass(frozen=True, slots=True)
class Record:
    """A pull request with the further data of a forge.

    `base` is where its target branch stood when it was opened; `changed` is remembered when it is merged or closed.
    """

    pull: ForgePullRequest
    base: str
    changed: tuple[str, ...] | None = None
    comments: tuple[PostedComment, ...] = ()

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Record:
        """Raises KeyError, TypeError or ValueError if it was not written by `written`."""
        texts = [found[name] for name in ("sourceBranch", "targetBranch", "title", "body", "head", "base", "author")]
        number, state, draft = found["number"], found["state"], found["draft"]
        if not all(isinstance(text, str) for text in texts) or type(number) is not int or type(draft) is not bool:
            raise TypeError("a field has the wrong type")
        if state not in get_args(PullRequestState):
            raise ValueError(f"state {state!r}")
        source, target, title, body, head, base, author = texts
        merge_commit, merged_at = str(found.get("mergeCommit", "")), str(found.get("mergedAt", ""))
        changed = found.get("changed")
        return cls(
            ForgePullRequest(number, source, target, title, body, draft, state, head, merge_commit, author, merged_at),
            base,
            None if changed is None else tuple(str(path) for path in changed),
            tuple(PostedComment(str(each["author"]), str(each["text"])) for each in found["comments"]),
        )

    def written(self) -> dict[str, Any]:
        """Its value in the file."""
        pull = self.pull
        return {
            "number": pull.number,
            "state": pull.state,
            "draft": pull.draft,
            "sourceBranch": pull.source_branch,
            "targetBranch": pull.target_branch,
            "title": pull.title,
            "body": pull.body,
            "author": pull.author,
            "head": pull.head,
            "base": self.base,
            **({"mergeCommit": pull.merge_commit, "mergedAt": pull.merged_at} if pull.merge_commit else {}),
            **({} if self.changed is None else {"changed": list(self.changed)}),
            "comments": [{"author": comment.author, "text": comment.text} for comment in self.comments],
        }
