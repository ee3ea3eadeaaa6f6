"""The pages reference/ of the site: what each public interface of the package gives, with signatures and docstrings.

They are read from the sources without running them, so every version of Python makes the same pages. Public is what
`__all__` of an interface names: these pages are the record of that, and a change of them is a change of the public API.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import griffe

ROOT = Path(__file__).resolve().parent.parent
INTERFACES = ("krm_merge", "krm_merge.krm", "krm_merge.text", "krm_merge.patch", "krm_merge.transform")
NOTE = "From the docstrings in `fn/krm_merge`."
WIDTH = 100
FRESH = re.compile(r"^(?:fresh|field)\((?:default_)?factory=(\w+)\)$")
FRESH_CALL = r"\1()"
KEYWORD_ONLY = griffe.ParameterKind.keyword_only
PREFIXES = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}


def pages() -> dict[str, str]:
    """The text of each page, by its path in docs/."""
    package = griffe.load("krm_merge", search_paths=[ROOT / "fn"])
    interfaces = {name: _module(package, name) for name in INTERFACES}
    modules = {f"reference/{name}.md": _page(name, interface) for name, interface in interfaces.items()}
    return {"reference/README.md": _overview(interfaces), **modules}


def _module(package: griffe.Object | griffe.Alias, name: str) -> griffe.Module:
    inner = name.partition(".")[2]
    module = package[inner] if inner else package
    assert isinstance(module, griffe.Module)
    return module


def _overview(interfaces: dict[str, griffe.Module]) -> str:
    rows = []
    for name, interface in interfaces.items():
        says = _prose(interface).partition("\n")[0]
        rows.append(f"| [`{name}`]({name}.md) | {says} | {', '.join(f'`{each}`' for each in _names(interface))} |\n")
    return (
        f"# Python reference\n\n{NOTE}\n\n"
        "Public are these names, imported from these modules. All others may change without notice.\n\n"
        f"| module | is | names |\n|---|---|---|\n{''.join(rows)}"
    )


def _page(name: str, interface: griffe.Module) -> str:
    parts = [f"# {name}\n\n{NOTE}\n\n{_prose(interface)}\n"]
    for each in _names(interface):
        parts.append(f"\n## {each}\n\n{_describe(each, _target(interface[each]))}")
    return "".join(parts)


def _names(interface: griffe.Module) -> list[str]:
    assert interface.exports is not None, interface.path
    return [str(name) for name in interface.exports]


def _target(item: griffe.Object | griffe.Alias) -> griffe.Object:
    return item.final_target if isinstance(item, griffe.Alias) else item


def _describe(name: str, item: griffe.Object) -> str:
    match item:
        case griffe.Class():
            return _class(name, item)
        case griffe.Function():
            return _block(_signature(f"def {name}", item.parameters, _return_type(item))) + f"\n{_prose(item)}\n"
        case griffe.Attribute():
            value = str(item.value).strip("'\"")
            return _block(f"{name} = {value}") + f"\n{_prose(item)}\n"
    raise AssertionError(f"{item.path} is neither class, function nor attribute")


def _class(name: str, class_: griffe.Class) -> str:
    bases = ", ".join(f"`{base}`" for base in class_.bases)
    is_made = "__init__" in class_.members or bool(_constructor(class_))
    text = _block(_signature(f"class {name}", _constructor(class_)) if is_made else f"class {name}")
    members = "".join(_members(class_))
    based = f"Bases: {bases}.\n\n" if bases else ""
    return f"{text}\n{based}{_prose(class_)}\n" + (f"\n{members}" if members else "")


def _constructor(class_: griffe.Class) -> Sequence[griffe.Parameter]:
    """The parameters of `__init__`, else the fields of a value class."""
    if "__init__" in class_.members:
        constructor = class_.members["__init__"]
        assert isinstance(constructor, griffe.Function)
        parameters = [each for each in constructor.parameters if each.name != "self"]
    elif any(str(decorator.value) == "frozen" for decorator in class_.decorators):
        parameters = [
            griffe.Parameter(each.name, annotation=each.annotation, default=each.value)
            for each in class_.members.values()
            if isinstance(each, griffe.Attribute) and each.annotation is not None and "property" not in each.labels
        ]
    else:
        return ()
    return [each for each in parameters if not str(each.annotation).startswith("ClassVar")]


def _members(class_: griffe.Class) -> Iterator[str]:
    for name, member in class_.members.items():
        if name.startswith("_") or member.docstring is None:
            continue
        if isinstance(member, griffe.Function):
            static = {"classmethod", "staticmethod"} & member.labels
            parameters = list(member.parameters)[0 if "staticmethod" in static else 1 :]
            signature = _one_line(f"{class_.name}.{name}" if static else name, parameters, _return_type(member))
        elif isinstance(member, griffe.Attribute):
            signature = f"{name}: {member.annotation}" if member.annotation is not None else name
        else:
            continue
        yield f"- `{signature}`<br>\n  {' '.join(_prose(member).split())}\n"


def _return_type(function: griffe.Function) -> str:
    return f" -> {function.returns}" if function.returns is not None else ""


def _signature(name: str, parameters: Sequence[griffe.Parameter] | griffe.Parameters, returned: str = "") -> str:
    """On one line where it fits, else one parameter a line."""
    short = _one_line(name, parameters, returned)
    if len(short) <= WIDTH:
        return short
    inner = "".join(f"    {each},\n" for each in _parameters(parameters))
    return f"{name}(\n{inner}){returned}"


def _one_line(name: str, parameters: Sequence[griffe.Parameter] | griffe.Parameters, returned: str) -> str:
    return f"{name}({', '.join(_parameters(parameters))}){returned}"


def _parameters(parameters: Sequence[griffe.Parameter] | griffe.Parameters) -> Iterator[str]:
    is_marked = False
    for each in parameters:
        if each.kind is KEYWORD_ONLY and not is_marked:
            yield "*"
        is_marked = is_marked or each.kind in (KEYWORD_ONLY, griffe.ParameterKind.var_positional)
        prefix = PREFIXES.get(each.kind, "") if each.kind is not None else ""
        annotation = f": {each.annotation}" if each.annotation is not None else ""
        # The parameter of a `*` or `**` has a default of its own kind, which nobody writes.
        has_default = each.default is not None and not prefix
        default = f" = {FRESH.sub(FRESH_CALL, str(each.default))}" if has_default else ""
        yield f"{prefix}{each.name}{annotation}{default}"


def _prose(item: griffe.Object) -> str:
    """The docstring as Markdown: its examples as code."""
    assert item.docstring is not None, f"{item.path} is public and has no docstring"
    out: list[str] = []
    in_example = False
    for line in item.docstring.value.splitlines():
        if line.startswith(">>>") and not in_example:
            out.append("```pycon")
            in_example = True
        if in_example and not line.strip():
            out.append("```")
            in_example = False
        out.append(line.rstrip())
    return "\n".join([*out, "```"] if in_example else out)


def _block(code: str) -> str:
    # With the quotes of the sources: griffe has Python's, and `ruff format` reads code in Markdown, too.
    return "```python\n" + code.replace("'", '"') + "\n```\n"
