"""Reads the expressions of Pipelines as Code (`pipelinesascode.tekton.dev/on-cel-expression`).

Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md.
"""

from __future__ import annotations

import re
from functools import lru_cache

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
    Program,
    Relation,
)
from krm_merge.components.configure.cel_tokens import CelError, Token, integer_of, string_of, tokens_of

_RESERVED = re.compile(
    "as|break|const|continue|else|for|function|if|import|in|let|loop|namespace|package|return|var|void|while"
)

_RELATIONS = ("==", "!=", "<", "<=", ">", ">=", "in")
_DEEPEST = 40
"""How deep expressions may be nested; nobody writes more."""


def problems(text: str) -> list[str]:
    """Why an expression cannot be read; nothing where it can."""
    try:
        parse(text)
    except CelError as error:
        return [str(error)]
    return []


@lru_cache(maxsize=4096)
def parse(text: str) -> Program:
    """Reads an expression. Raises CelError."""
    parser = _Parser(text, tokens_of(text))
    root = parser.expression()
    parser.expect_end()
    literals = (token for token in parser.tokens if token.kind == "string")
    return Program(root, any("refs/heads/" in (string_of(text, token) or "") for token in literals))


class _Parser:
    """Reads tokens from left to right. Operands in a row are kept in a row: only brackets make the tree deeper."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.tokens = tokens
        self._text = text
        self._at = 0
        self._depth = 0

    def expression(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error("the expression is nested too deeply")
        node = self._any_of()
        if self._take("?"):
            then = self._any_of()
            self._expect(":")
            node = Choice(node, then, self.expression())
        self._depth -= 1
        return node

    def expect_end(self) -> None:
        if self._at < len(self.tokens):
            raise self._error("cannot read what follows")

    def _any_of(self) -> Node:
        operands = [self._all_of()]
        while self._take("||"):
            operands.append(self._all_of())
        return operands[0] if len(operands) == 1 else AnyOf(tuple(operands))

    def _all_of(self) -> Node:
        operands = [self._relation()]
        while self._take("&&"):
            operands.append(self._relation())
        return operands[0] if len(operands) == 1 else AllOf(tuple(operands))

    def _relation(self) -> Node:
        first = self._calculation()
        others: list[tuple[str, Node]] = []
        while operator := self._take(*_RELATIONS):
            others.append((operator, self._calculation()))
        return Relation(first, tuple(others)) if others else first

    def _calculation(self) -> Node:
        node = self._unary()
        while self._take("+", "-", "*", "/", "%"):
            self._unary()
            node = Constant(None)
        return node

    def _unary(self) -> Node:
        negations = 0
        while self._take("!"):
            negations += 1
        if negations:
            operand = self._chain()
            # Two negations are none, but only of a truth value.
            return Not(operand) if negations % 2 else Not(Not(operand))
        minuses = 0
        while self._take("-"):
            minuses += 1
        node = self._chain()
        if not minuses:
            return node
        number = node.value if isinstance(node, Constant) and type(node.value) is int else None
        return Constant(number if number is None or minuses % 2 == 0 else -number)

    def _chain(self) -> Node:
        head = self._primary()
        links: list[Field | Call] = []
        while sign := self._take(".", "["):
            if sign == "[":
                self.expression()
                self._expect("]")
                head, links = Constant(None), []
                continue
            name = self._name()
            links.append(Call(name, self._arguments(")")) if self._take("(") else Field(name))
        return Chain(head, tuple(links)) if links else head

    def _primary(self) -> Node:
        token = self._next()
        if token.kind == "string":
            return Constant(string_of(self._text, token))
        if token.kind == "int":
            return Constant(integer_of(token.text))
        if token.kind == "float":
            return Constant(None)
        if token.kind == "name":
            return self._named(token)
        if token.text == "(":
            node = self.expression()
            self._expect(")")
            return node
        if token.text == "[":
            return Items(self._arguments("]"))
        if token.text == "{":
            self._entries()
            return Constant(None)
        self._at -= 1
        raise self._error("expected a value")

    def _named(self, token: Token) -> Node:
        if token.text in ("true", "false"):
            return Constant(token.text == "true")
        if token.text == "null":
            return Constant(None)
        if _RESERVED.fullmatch(token.text):
            self._at -= 1
            raise self._error("expected a value")
        if self._take("("):
            arguments = self._arguments(")")
            # size(x) and x.size() are the same.
            known = token.text == "size" and len(arguments) == 1
            return Chain(arguments[0], (Call("size", ()),)) if known else Constant(None)
        return Name(token.text)

    def _arguments(self, end: str) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self._take(end):
            found.append(self.expression())
            if not self._take(","):
                self._expect(end)
                break
            if end == ")" and self._peek() == end:
                raise self._error("expected a value")
        return tuple(found)

    def _entries(self) -> None:
        while not self._take("}"):
            self.expression()
            self._expect(":")
            self.expression()
            if not self._take(","):
                self._expect("}")
                break

    def _peek(self) -> str:
        """The next sign or name, '' where a literal or nothing is next."""
        token = self.tokens[self._at] if self._at < len(self.tokens) else None
        return token.text if token and token.kind in ("sign", "name") else ""

    def _take(self, *texts: str) -> str:
        text = self._peek()
        if text not in texts:
            return ""
        self._at += 1
        return text

    def _next(self) -> Token:
        if self._at >= len(self.tokens):
            raise self._error("expected a value")
        self._at += 1
        return self.tokens[self._at - 1]

    def _name(self) -> str:
        token = self._next()
        if token.kind != "name":
            self._at -= 1
            raise self._error("expected a name")
        return token.text

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise self._error(f"expected {text!r}")

    def _error(self, problem: str) -> CelError:
        if self._at < len(self.tokens):
            token = self.tokens[self._at]
            return CelError(self._text, token.start, f"{problem}, found {token.text!r}")
        return CelError(self._text, len(self._text.rstrip()), f"{problem}, found the end")
