"""Edits of generated packages as texts: of lines, of documents and of files."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from posixpath import basename, dirname, join

from generated.facts import KPTFILE, facts
from generated.written import MAKERS, Lines, Texts, Writer, comment, documents, package, word

PARTS = re.compile(r"^(\s*(?:- +)*(?:[\w./-]+:(?: +|$))?)(.*?)(\s+#.*)?$")
SEPARATOR = re.compile(r"^---(\s.*)?$")


# Edits of lines


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def block_at(lines: Lines, at: int) -> int:
    """Where the field or element that begins on a line ends."""
    indent, dash = indent_of(lines[at]), lines[at].lstrip().startswith("-")
    end = at + 1
    for index in range(at + 1, len(lines)):
        line = lines[index]
        if not line.strip() or is_note(line):
            continue
        inner = indent_of(line) - (0 if dash or not line.lstrip().startswith("-") else -1)
        if inner <= indent or SEPARATOR.match(line):
            break
        end = index + 1
    return end


def is_note(line: str) -> bool:
    return line.lstrip().startswith("#")


def is_content(line: str) -> bool:
    return bool(line.strip()) and not is_note(line) and not SEPARATOR.match(line)


def places(lines: Lines, is_wanted: Callable[[str], bool]) -> list[int]:
    return [at for at, line in enumerate(lines) if is_wanted(line)]


def other_word(rng: random.Random, line: str) -> str | None:
    """The line with another word in its value."""
    match = PARTS.match(line)
    if match is None or not (words := list(re.finditer(r"(?<!\\)\b[A-Za-z0-9]+", match[2]))):
        return None
    at = rng.choice(words)
    new = str(rng.randint(1, 9999)) if at[0].isdigit() else word(rng)
    return match[1] + match[2][: at.start()] + new + match[2][at.end() :] + (match[3] or "")


def change_value(rng: random.Random, lines: Lines) -> bool:
    at = rng.choice(places(lines, is_content))
    if (line := other_word(rng, lines[at])) is None:
        return False
    lines[at] = line
    return True


def delete_block(rng: random.Random, lines: Lines) -> bool:
    at = rng.choice(places(lines, is_content))
    end, start = block_at(lines, at), at
    if end - at > 8 and rng.random() < 0.7:
        return False
    while start and is_note(lines[start - 1]) and rng.random() < 0.8:
        start -= 1
    del lines[start:end]
    return True


def double_block(rng: random.Random, lines: Lines) -> bool:
    """Copies an element or field, with other words in it, to before or behind it or another one of its list."""
    dashes = places(lines, lambda line: line.lstrip().startswith("- ") or bool(re.match(r"\s*-$", line)))
    fields = places(lines, lambda line: is_content(line) and not line.lstrip().startswith("-"))
    if not (candidates := dashes if dashes and rng.random() < 0.7 else fields):
        return False
    at = rng.choice(candidates)
    copy = lines[at : block_at(lines, at)]
    if len(copy) > 15:
        return False
    changed = rng.sample(range(len(copy)), rng.randint(1, len(copy)))
    for index in {0, *changed}:
        if is_note(copy[index]):
            copy[index] = f"{' ' * indent_of(copy[index])}# {comment(rng)}"
        elif (line := other_word(rng, copy[index])) is not None:
            copy[index] = line
    if not lines[at].lstrip().startswith("-"):
        copy[0] = re.sub(r"^(\s*)[\w./-]+:", lambda match: f"{match[1]}{word(rng)}:", copy[0])
    copy = [new for line in copy for new in with_note(rng, line, 0.05)]
    alike = [n for n in candidates if indent_of(lines[n]) == indent_of(lines[at])]
    near = [n for n in alike if abs(n - at) < 20]
    target = rng.choice([at, rng.choice(near)])
    target = target if rng.random() < 0.4 else block_at(lines, target)
    lines[target:target] = copy
    return True


def with_note(rng: random.Random, line: str, chance: float) -> Lines:
    """The line, now and then with a comment above it or at its end."""
    if rng.random() > chance or not is_content(line):
        return [line]
    if rng.random() < 0.5:
        return [f"{' ' * indent_of(line)}# {comment(rng)}", line]
    return [f"{line} # {comment(rng)}"]


def add_field(rng: random.Random, lines: Lines) -> bool:
    at = rng.choice(places(lines, is_content))
    pad = " " * indent_of(lines[at])
    if lines[at].lstrip().startswith("-"):
        new = f"{pad}- {word(rng)}"
    elif PARTS.match(lines[at]) and ":" in lines[at]:
        new = f"{pad}{word(rng)}: {rng.choice([word(rng), str(rng.randint(1, 999))])}"
    else:
        new = f"{pad}{word(rng)} {word(rng)}"
    target = at if rng.random() < 0.5 else block_at(lines, at)
    lines[target:target] = with_note(rng, new, 0.3)
    return True


def add_note(rng: random.Random, lines: Lines) -> bool:
    at = rng.randint(0, len(lines))
    near = lines[at] if at < len(lines) and rng.random() < 0.8 else lines[at - 1]
    note = [f"{' ' * indent_of(near)}# {comment(rng)}" for _ in range(rng.choice([1, 1, 2]))]
    lines[at:at] = [""] * (rng.random() < 0.15) + note + [""] * (rng.random() < 0.15)
    return True


def change_note(rng: random.Random, lines: Lines) -> bool:
    if not (notes := places(lines, is_note)):
        return False
    at = rng.choice(notes)
    kind = rng.randrange(3)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines[at] = f"{' ' * indent_of(lines[at])}# {comment(rng)}"
    else:
        lines[at] = other_word(rng, lines[at]) or lines[at] + " more"
    return True


def change_line_end(rng: random.Random, lines: Lines) -> bool:
    noted = places(lines, lambda line: is_content(line) and " #" in line)
    if noted and rng.random() < 0.6:
        at = rng.choice(noted)
        bare = lines[at].partition(" #")[0].rstrip()
        lines[at] = bare if rng.random() < 0.5 else f"{bare} # {comment(rng)}"
    else:
        at = rng.choice(places(lines, lambda line: bool(line.strip()) and not is_note(line)))
        lines[at] += f" # {comment(rng)}"
    return True


def change_blank(rng: random.Random, lines: Lines) -> bool:
    blanks = places(lines, lambda line: not line.strip())
    if blanks and rng.random() < 0.5:
        del lines[rng.choice(blanks)]
    else:
        lines.insert(rng.randint(0, len(lines)), "")
    return True


def move_block(rng: random.Random, lines: Lines) -> bool:
    """Puts a field or element behind the one that follows."""
    at = rng.choice(places(lines, is_content))
    end = block_at(lines, at)
    if end == len(lines) or not is_content(lines[end]) or indent_of(lines[end]) != indent_of(lines[at]):
        return False
    after = block_at(lines, end)
    lines[at:after] = lines[end:after] + lines[at:end]
    return True


def requote(rng: random.Random, lines: Lines) -> bool:
    at = rng.choice(places(lines, is_content))
    match = PARTS.match(lines[at])
    if match is None or not re.fullmatch(r"[A-Za-z]\w*|\"\w*\"|'\w*'", match[2]):
        return False
    bare = match[2].strip("'\"")
    quote = rng.choice(["", '"', "'"])
    lines[at] = f"{match[1]}{quote}{bare}{quote}{match[3] or ''}"
    return True


LINE_EDITS: list[tuple[int, Callable[[random.Random, Lines], bool]]] = [
    (8, change_value),
    (4, delete_block),
    (5, double_block),
    (4, add_field),
    (3, add_note),
    (3, change_note),
    (3, change_line_end),
    (1, change_blank),
    (1, move_block),
    (1, requote),
]


def edit_lines(rng: random.Random, path: str, text: str) -> str:
    """The text with one edit, or as it was where the edit would make nonsense of it."""
    before = facts(path, text)
    for _ in range(4):
        lines = text.split("\n")
        ends = lines[-1] == ""
        lines = lines[:-1] if ends else lines
        if not any(map(is_content, lines)):
            return text
        weights = [weight for weight, _ in LINE_EDITS]
        _, edit = rng.choices(LINE_EDITS, weights)[0]
        if not edit(rng, lines):
            continue
        new = "\n".join(lines) + ("\n" if ends else "")
        after = facts(path, new)
        if after is not None and before is not None and after.identities == before.identities and not after.faults:
            return new
    return text


# Edits of documents and files


def split(text: str) -> list[str]:
    """The documents of a text, each with the separator in front of it."""
    parts: list[Lines] = [[]]
    for line in text.splitlines(keepends=True):
        if SEPARATOR.match(line) and (parts[-1] or len(parts) > 1):
            parts.append([])
        parts[-1].append(line)
    return ["".join(lines) for lines in parts]


def join_documents(parts: list[str]) -> str:
    """Documents as one text, with separators where they lack."""
    text = ""
    for part in parts:
        text += "\n" * bool(text and not text.endswith("\n"))
        text += "---\n" * bool(text and not SEPARATOR.match(part.partition("\n")[0]))
        text += part
    return text


def add_document(rng: random.Random, texts: Texts, path: str) -> None:
    parts = split(texts[path])
    data = rng.choice(MAKERS)(rng, rng.choice(["web", "db", word(rng), word(rng)]))
    parts.insert(rng.randint(0, len(parts)), "\n".join(Writer(rng).document(data)) + "\n")
    texts[path] = join_documents(parts)


def remove_document(rng: random.Random, texts: Texts, path: str) -> None:
    parts = split(texts[path])
    if len(parts) > 1:
        del parts[rng.randrange(len(parts))]
        texts[path] = join_documents(parts)


def reorder_documents(rng: random.Random, texts: Texts, path: str) -> None:
    parts = split(texts[path])
    parts.insert(rng.randint(0, len(parts)), parts.pop(rng.randrange(len(parts))))
    texts[path] = join_documents(parts)


def move_document(rng: random.Random, texts: Texts, path: str) -> None:
    """To the end of another file, or to a new one."""
    parts = split(texts[path])
    if len(parts) == 1:
        return
    nearby = [p for p in texts if p.endswith(".yaml") and p != path and dirname(p) == dirname(path)]
    others = [p for p in nearby if holds_resources(p, texts[p])]
    target = rng.choice([*others, join(dirname(path), "moved.yaml")])
    part = parts.pop(rng.randrange(len(parts)))
    texts[path] = join_documents(parts)
    texts[target] = join_documents([texts[target], part]) if target in texts else part


def rename(rng: random.Random, texts: Texts, path: str) -> None:
    """Another name or another namespace for one of the resources of a file."""
    parts = split(texts[path])
    at = rng.randrange(len(parts))
    match = re.search(r"^metadata:.*\n(?:(?:  .*|\s*)\n)*?  (name: )(\S+)", parts[at], re.MULTILINE)
    if match is None:
        return
    if rng.random() < 0.6:
        new = f"{rng.choice(['core-', 'my-'])}{match[2]}" if rng.random() < 0.7 else word(rng)
        parts[at] = parts[at][: match.start(2)] + new + parts[at][match.end(2) :]
    elif "\n  namespace: " in parts[at]:
        parts[at] = re.sub(r"\n  namespace: \S+", f"\n  namespace: {word(rng)}", parts[at], count=1)
    else:
        parts[at] = parts[at][: match.start(1)] + f"namespace: {word(rng)}\n  " + parts[at][match.start(1) :]
    texts[path] = "".join(parts)


def move_file(rng: random.Random, texts: Texts, path: str) -> None:
    target = join(dirname(path), rng.choice(["renamed.yaml", "new/place.yaml"]))
    if target not in texts:
        texts[target] = texts.pop(path)


def remove_file(_: random.Random, texts: Texts, path: str) -> None:
    del texts[path]


def add_file(rng: random.Random, texts: Texts, path: str) -> None:
    """A new overlay like one that is there, or another resource."""
    if path.startswith("overlays/"):
        new = rng.choice(["staging", "mine", "test"])
        for name in [p for p in texts if dirname(p) == dirname(path)]:
            copy = f"overlays/{new}/{basename(name)}"
            texts.setdefault(copy, edit_lines(rng, copy, edit_lines(rng, copy, texts[name])))
    else:
        texts.setdefault(rng.choice(["new.yaml", "extra.yaml"]), Writer(rng).file(documents(rng, rng.randint(1, 2))))


FILE_EDITS: list[tuple[int, Callable[[random.Random, Texts, str], None]]] = [
    (4, add_document),
    (2, remove_document),
    (2, reorder_documents),
    (1, move_document),
    (3, rename),
    (1, move_file),
    (1, remove_file),
    (2, add_file),
]
ON_DOCUMENTS = {add_document, remove_document, reorder_documents, move_document}


def holds_resources(path: str, text: str) -> bool:
    """Whether all documents are resources with names."""
    content = facts(path, text)
    return content is not None and all(kind and name for _, kind, _, name in content.identities)


def edit_files(rng: random.Random, texts: Texts, path: str) -> None:
    """One edit of documents or files; none where it would make nonsense."""
    new = dict(texts)
    _, edit = rng.choices(FILE_EDITS, [weight for weight, _ in FILE_EDITS])[0]
    if edit in ON_DOCUMENTS and not holds_resources(path, texts[path]):
        return
    edit(rng, new, path)
    changed = [p for p in new if new[p] != texts.get(p)]
    if all((content := facts(p, new[p])) is not None and not content.faults for p in changed):
        texts.clear()
        texts.update(new)


def edit_texts(rng: random.Random, texts: Texts, hot: list[str], count: int, structure: float) -> Texts:
    """A copy with so many edits, most of them in the hot files; `structure` is the share of those of documents."""
    texts = dict(texts)
    for _ in range(count):
        if not texts:
            break
        path = rng.choice(hot) if rng.random() < 0.85 else rng.choice(sorted(texts))
        if path not in texts:
            continue
        if basename(path) != KPTFILE and path.endswith(".yaml") and rng.random() < structure:
            edit_files(rng, texts, path)
        else:
            texts[path] = edit_lines(rng, path, texts[path])
    return texts


Triple = tuple[Texts, Texts, Texts]


def triple(rng: random.Random) -> Triple:
    """The original, what upstream made of it, and what local made of it."""
    original = package(rng)
    hot = rng.sample(sorted(original), min(len(original), rng.randint(1, 3)))
    structure = rng.choice([0, 0, 0.3])
    upstream = edit_texts(rng, original, hot, rng.randint(1, 5), structure)
    local = edit_texts(rng, original, hot, rng.randint(1, 5), structure)
    return original, upstream, local


def lines_triple(rng: random.Random, path: str = "README.md") -> Triple:
    """Three versions of a plain text: of few different lines, so that alignments are ambiguous, or of many."""
    few = rng.random() < 0.6
    letters = "abc"[: rng.randint(1, 3)] if few else ""

    def line() -> str:
        return rng.choice(letters) if few else word(rng)

    def version(lines: Lines) -> Lines:
        lines = list(lines)
        for _ in range(rng.randint(1, 3)):
            at, kind = rng.randint(0, len(lines)), rng.randrange(4)
            if kind == 0:
                lines[at:at] = [line() for _ in range(rng.randint(1, 2))]
            elif kind == 1:
                del lines[at : at + rng.randint(1, 2)]
            elif kind == 2 and at < len(lines):
                lines[at] = line()
            elif kind == 3 and at < len(lines):
                lines.insert(rng.randint(0, len(lines) - 1), lines.pop(at))
        return lines

    start = [line() for _ in range(rng.randint(1, 12))]
    sides = [start, version(start), version(start)]
    texts = ["\n".join(side) + "\n" * (bool(side) and rng.random() < 0.97) for side in sides]
    original, upstream, local = ({path: text} for text in texts)
    return original, upstream, local
