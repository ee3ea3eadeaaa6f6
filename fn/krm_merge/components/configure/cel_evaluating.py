"""Which events start a pipeline: expressions of Pipelines as Code, evaluated as far as they are understood.

A verdict is "unknown" where Pipelines as Code could decide either way.

Sources: https://github.com/google/cel-spec/blob/master/doc/langdef.md, pkg/matcher/cel.go of Pipelines as Code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from krm_merge.components.configure.cel_reading import parse
from krm_merge.components.configure.cel_syntax import (
    AllOf,
    AnyOf,
    Call,
    Chain,
    Choice,
    Constant,
    Field,
    Items,
    Name,
    Node,
    Not,
    Relation,
)
from krm_merge.components.configure.cel_tokens import CelError
from krm_merge.components.configure.cel_values import (
    Beginning,
    Listing,
    Value,
    all_of,
    any_of,
    compared,
    exists,
    negated,
    size_of,
    truth_of,
)
from krm_merge.components.configure.globs import glob_matches
from krm_merge.components.configure.regular_expressions import regex_matches

Trigger: TypeAlias = Literal["push", "pull_request"]
Verdict: TypeAlias = Literal["true", "false", "unknown"]


@dataclass(frozen=True, slots=True)
class Event:
    """What happened in a repository. A text that is '' is not known, nor are `files` that are None.

    `files` are the paths as Pipelines as Code is told them: GitHub and GitLab name a renamed file by its new path. A
    path of which only the beginning is known stands for any number of such paths.
    """

    event: Trigger
    target_branch: str
    source_branch: str
    files: Sequence[str | Beginning] | None
    title: str = ""
    event_type: str = ""
    target_url: str = ""
    source_url: str = ""


@dataclass(frozen=True, slots=True)
class _Scope:
    """What names mean: the event, and the variables of the macros around."""

    event: Event
    variables: tuple[tuple[str, Value], ...] = ()


def evaluate(text: str, event: Event) -> Verdict:
    """Whether an event starts a pipeline with this expression; "unknown" where that cannot be proved."""
    try:
        program = parse(text)
    except CelError:
        return "unknown"
    if program.full_refs and event.event == "push":
        # Branches of a push then have their full names; without such a text, their short ones.
        event = replace(event, target_branch="", source_branch="")
    truth = truth_of(_value(program.root, _Scope(event)))
    return "unknown" if truth is None else "true" if truth else "false"


def may_trigger(text: str, files: Sequence[str | Beginning], branch: str, event: Trigger) -> Verdict:
    """Whether a change of exactly these files on a branch starts a pipeline; "unknown" if it cannot be proved.

    For a pull request, the branch is the one that it is to be merged to.
    """
    return evaluate(text, Event(event, branch, "", files))


def _value(node: Node, scope: _Scope) -> Value:
    match node:
        case Constant(value):
            return value
        case Name(name):
            return _variable(name, scope)
        case Items(items):
            return Listing(tuple(_value(item, scope) for item in items))
        case Not(operand):
            return negated(truth_of(_value(operand, scope)))
        case AllOf(operands):
            return all_of(truth_of(_value(operand, scope)) for operand in operands)
        case AnyOf(operands):
            return any_of(truth_of(_value(operand, scope)) for operand in operands)
        case Relation(first, others):
            left = _value(first, scope)
            for operator, other in others:
                left = compared(left, operator, _value(other, scope))
            return left
        case Choice(condition, then, otherwise):
            # An error in the condition is an error of the whole, whatever the branches say.
            chosen = truth_of(_value(condition, scope))
            return None if chosen is None else _value(then if chosen else otherwise, scope)
        case Chain(head, links):
            return _chained(head, links, scope)


def _variable(name: str, scope: _Scope) -> Value:
    for variable, value in reversed(scope.variables):
        if variable == name:
            return value
    event = scope.event
    known: dict[str, str] = {
        "event": event.event,
        "event_type": event.event_type,
        "event_title": event.title,
        "target_branch": event.target_branch,
        "source_branch": event.source_branch,
        "target_url": event.target_url,
        "source_url": event.source_url,
    }
    return known.get(name) or None


_FILES = {"all": True, "added": False, "deleted": False, "modified": False, "renamed": False}
"""The lists of changed files, and whether it is known what is in them."""


def _chained(head: Node, links: Sequence[Field | Call], scope: _Scope) -> Value:
    shadowed = any(name == "files" for name, _ in scope.variables)
    if head == Name("files") and not shadowed and isinstance(links[0], Field):
        files = scope.event.files
        if files is None or links[0].name not in _FILES:
            return None
        complete = _FILES[links[0].name] and not any(isinstance(file, Beginning) for file in files)
        value: Value = Listing(tuple(files), complete)
        links = links[1:]
    else:
        value = _value(head, scope)
    for link in links:
        if value is None or isinstance(link, Field):
            return None
        value = _called(value, link, scope)
    return value


def _called(value: Value, call: Call, scope: _Scope) -> Value:
    if call.name == "size" and not call.arguments:
        return size_of(value)
    if isinstance(value, Listing):
        return _macro(value, call, scope)
    if isinstance(value, Beginning):
        prefix = _value(call.arguments[0], scope) if call.name == "startsWith" and len(call.arguments) == 1 else None
        return value.starts_with(prefix) if isinstance(prefix, str) else None
    if not isinstance(value, str):
        return None
    if call.name == "pathChanged" and not call.arguments:
        files = scope.event.files
        return None if files is None else any_of(_is_of(value, file) for file in files)
    argument = _value(call.arguments[0], scope) if len(call.arguments) == 1 else None
    if not isinstance(argument, str):
        return None
    match call.name:
        case "startsWith":
            return value.startswith(argument)
        case "endsWith":
            return value.endswith(argument)
        case "contains":
            return argument in value
        case "matches":
            return regex_matches(argument, value)
    return None


_NOT_LITERAL = re.compile(r"[\\*?\[{]")


def _is_of(glob: str, file: str | Beginning) -> bool | None:
    if isinstance(file, str):
        return glob_matches(glob, file)
    start = _NOT_LITERAL.split(glob, maxsplit=1)[0]
    # A path that begins as both do may be of the glob, all others are not.
    return None if start.startswith(file.text) or file.text.startswith(start) else False


def _macro(listing: Listing, call: Call, scope: _Scope) -> bool | None:
    if call.name not in ("exists", "all") or len(call.arguments) != 2:
        return None
    variable, body = call.arguments
    # Macros within macros multiply: those that nobody writes are not worked out.
    if not isinstance(variable, Name) or len(scope.variables) > 1:
        return None
    scopes = (replace(scope, variables=(*scope.variables, (variable.name, item))) for item in listing.items)
    truths = (truth_of(_value(body, inner)) for inner in scopes)
    return exists(listing, truths) if call.name == "exists" else negated(exists(listing, map(negated, truths)))
