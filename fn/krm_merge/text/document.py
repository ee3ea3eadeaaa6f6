"""Renders an edited document and makes sure that the text says what the edits mean."""

from __future__ import annotations

from krm_merge.text.editor import Editor
from krm_merge.text.layout import CannotEdit, source_of
from krm_merge.text.nodes import Canonical, TextError
from krm_merge.text.reader import read


def rendered(editor: Editor) -> tuple[str, bool]:
    """The text of the document after the edits, read again and compared (W2), and whether the fallback wrote it.

    Raises TextError when neither way gives a text that means what the edits mean.
    """
    wanted = editor.canonical()
    try:
        text = editor.render()
    except CannotEdit:
        pass
    else:
        if _means(text, wanted):
            return text, False
    # Imported only where it is needed: hardly any document does.
    from krm_merge.text.reemit import reemit, written_anew

    for write in (reemit, written_anew):
        try:
            text = write(source_of(editor.root).text, editor)
        except CannotEdit:
            continue
        if _means(text, wanted):
            return text, True
    raise TextError("the edits of this document cannot be written; please report it with the document")


def _means(text: str, wanted: Canonical) -> bool:
    try:
        root = read(text)
    except TextError:
        return False
    return root is not None and root.canonical == wanted
