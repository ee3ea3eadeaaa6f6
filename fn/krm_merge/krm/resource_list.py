"""The ResourceList: what a function reads and writes."""

from __future__ import annotations

from krm_merge.errors import KrmMergeError
from krm_merge.krm.resource import Resource, ResourceError
from krm_merge.krm.result import Results
from krm_merge.safe_text import quoted
from krm_merge.text import Cut, MappingNode, TextError, Value, cut_items, is_null, read, to_value

API_VERSIONS = ("config.kubernetes.io/v1", "config.kubernetes.io/v1beta1", "config.kubernetes.io/v1alpha1")
_REMEDY = "; `kpt fn source DIR` writes one"


class InputError(KrmMergeError, ValueError):
    """An input that is not a ResourceList."""


class ResourceList:
    """Items, functionConfig and results. Change `items` and report to `results`; then `serialize`."""

    def __init__(self, parts: Cut) -> None:
        """Made of a list that was cut; use `parse`."""
        self._parts = parts
        self._input = [Resource(item, parts.dash) for item in parts.items or []]
        self.items: list[Resource] = list(self._input)
        self.results = Results()
        self._function_config: MappingNode | None = None

    @classmethod
    def parse(cls, data: bytes) -> ResourceList:
        """Reads a ResourceList; nothing at all is an empty one. The items are not parsed. Raises InputError."""
        if not data or data.isspace():
            data = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError("stdin: not UTF-8; a ResourceList is UTF-8 text")
        try:
            parts = cut_items(data)
        except TextError as error:
            remedy = "" if ";" in str(error) else _REMEDY
            raise InputError(
                f"stdin: {error}" if error.line else f"stdin: not a ResourceList: {error}{remedy}"
            ) from None
        result = cls(parts)
        result._check_type()
        if parts.items is None:
            raise InputError("stdin: the ResourceList has no field items; give items: [] for an empty package")
        return result

    @classmethod
    def with_config(cls, text: str) -> ResourceList:
        """A list without items, with the functionConfig in a YAML text. Raises InputError."""
        head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig:\n"
        indented = "".join(f"  {line}" for line in text.splitlines(keepends=True))
        return cls.parse((head + indented).encode())

    def _check_type(self) -> None:
        kind, version = self._field("kind"), self._field("apiVersion")
        if kind != "ResourceList":
            raise InputError(f"stdin: kind is {quoted(kind) or 'missing'}, ResourceList is expected{_REMEDY}")
        if version not in API_VERSIONS:
            raise InputError(f"stdin: apiVersion is {quoted(version) or 'missing'}, {API_VERSIONS[0]} is expected")

    def _field(self, name: str) -> str:
        node = self._read_field(name)
        return "" if node is None or isinstance(node, MappingNode) else str(to_value(node))

    def _read_field(self, name: str):  # type: ignore[no-untyped-def]
        region = self._parts.fields.get(name)
        if region is None:
            return None
        try:
            root = read(region.decode("utf-8"))
        except UnicodeDecodeError:
            raise InputError(f"stdin: {name}: not UTF-8") from None
        except TextError as error:
            raise InputError(f"stdin: {name}: {error}") from None
        return root.get(name) if isinstance(root, MappingNode) else None

    @property
    def function_config(self) -> MappingNode | None:
        """The functionConfig, or None. Raises InputError if it is not a mapping or cannot be read."""
        if self._function_config is None:
            node = self._read_field("functionConfig")
            if node is None or is_null(node):
                return None
            if not isinstance(node, MappingNode):
                raise InputError("stdin: functionConfig is not a mapping")
            self._function_config = node
        return self._function_config

    @property
    def config(self) -> Value:
        """The functionConfig as plain values, None where there is none. Raises InputError."""
        return to_value(self.function_config)

    def serialize(self, *, as_it_came: bool = False) -> bytes:
        """The list as bytes, with the results. `as_it_came` gives the items of the input, without any change.

        Raises ResourceError for an item whose layout allows no such change (W2).
        """
        parts = self._parts
        pieces = [parts.before]
        last_field = 0
        for name, region in parts.fields.items():
            last_field = last_field if name == "results" else len(pieces)
            if name == "items":
                pieces.extend(self._items_as_they_came() if as_it_came else self._items(self.items))
            elif name != "results":
                pieces.append(region)
        if len(self.results):
            # A last field without a newline stays last: with one, a block scalar in it would have another value.
            pieces.insert(len(pieces) if pieces[-1].endswith(b"\n") else last_field, self._results())
        return _in_lines(pieces, parts.newline)

    def _items_as_they_came(self) -> list[bytes]:
        if not self._input:
            return self._items([])
        return [self._parts.items_head, *(item.slice.data for item in self._input)]

    def _items(self, items: list[Resource]) -> list[bytes]:
        parts = self._parts
        if not items:
            return [b"items: []" + parts.newline]
        pieces = [parts.items_head]
        for item in items:
            try:
                data = item.data()
            except TextError as error:
                raise ResourceError(f"{item.ref}: {error}", item.file) from None
            # New resources begin at column 0; an indented list needs them at its own column.
            if item._dash != parts.dash:
                data = _indent(data, parts.dash - item._dash)
            pieces.append(data)
        return pieces

    def _results(self) -> bytes:
        from krm_merge.krm.result import results_text

        return results_text(self.results, self._parts.newline.decode()).encode()


def _in_lines(pieces: list[bytes], newline: bytes) -> bytes:
    """The pieces joined; only the last may end without a newline, as in the input."""
    out: list[bytes] = []
    for piece in pieces:
        if out and not out[-1].endswith(b"\n"):
            out.append(newline)
        if piece:
            out.append(piece)
    return b"".join(out)


def _indent(data: bytes, by: int) -> bytes:
    """The lines moved right, or left as far as there are spaces; empty ones stay empty.

    Lines of white space move along: in a block scalar they may be content.
    """
    lines = data.split(b"\n")
    if by < 0:
        return b"\n".join(line[min(-by, len(line) - len(line.lstrip(b" "))) :] for line in lines)
    return b"\n".join(b" " * by + line if line.strip(b"\r") else line for line in lines)
