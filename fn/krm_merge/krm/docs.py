"""The docs of a function, from its README and metadata: what `kpt fn doc` and the function catalog show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from krm_merge.startup import frozen, pattern

if TYPE_CHECKING:
    from pathlib import Path

_SECTION = pattern(r"<!--mdtogo:(Short|Long|Examples)\s*-->\n?(.*?)(?:<!--mdtogo(?::End)?\s*-->|\Z)", re.DOTALL)
_METADATA_FIELDS = ("image", "description", "tags", "sourceURL", "examplePackageURLs", "license", "hidden")


@frozen
class Docs:
    """README and metadata as text. The README's sections lie between `<!--mdtogo:Short-->` and `<!--mdtogo-->`.

    `usage` is for people who ask for help; without it, they get the README's sections.
    """

    readme: str = ""
    metadata: str = ""
    usage: str = ""

    @classmethod
    def beside(cls, package: Path) -> Docs:
        """The docs that an installed package carries, or those of the checkout it runs from."""
        inside = cls.in_folder(package)
        return inside if inside.readme else cls.in_folder(package.parent.parent)

    @classmethod
    def in_folder(cls, folder: Path) -> Docs:
        """The README.md and metadata.yaml of a folder; no docs where it lacks one of them."""
        readme, metadata = folder / "README.md", folder / "metadata.yaml"
        if readme.is_file() and metadata.is_file():
            return cls(readme.read_text("utf-8"), metadata.read_text("utf-8"))
        return cls()

    def sections(self) -> dict[str, str]:
        """The README's sections by their marker in lower case."""
        return {name.lower(): body.strip() for name, body in _SECTION.findall(self.readme)}

    def text(self) -> str:
        """For people: the usage, or else the short section, the long one, the examples."""
        if self.usage:
            return self.usage
        sections = self.sections()
        parts = [sections.get("short", ""), sections.get("long", "")]
        if sections.get("examples"):
            parts.append("Examples:\n\n" + sections["examples"])
        return "".join(part + "\n\n" for part in parts if part).rstrip("\n") + "\n"

    def json(self) -> str:
        """For programs: the fields of the Go SDK's `--doc`."""
        import json

        from krm_merge.text.reading.reader import read
        from krm_merge.text.reading.values import to_value

        sections = self.sections()
        metadata = to_value(read(self.metadata)) if self.metadata else {}
        fields = metadata if isinstance(metadata, dict) else {}
        doc: dict[str, object] = {name: sections.get(name, "") for name in ("short", "long", "examples")}
        doc.update({name: fields[name] for name in _METADATA_FIELDS if name in fields})
        return json.dumps(doc, indent=2, ensure_ascii=False) + "\n"
