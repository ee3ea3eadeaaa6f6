"""Known digests and tags of images, which attribute a reference when several components have images of one name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from krm_merge.components.digests.references import ImageReference


@dataclass(frozen=True, slots=True)
class ImageIdentity:
    """Digests and tags of a component's image, and those of other components whose images have the same name."""

    digests: frozenset[str]
    tags: frozenset[str] = frozenset()
    other_digests: frozenset[str] = frozenset()
    other_tags: frozenset[str] = frozenset()

    def matches(self, reference: ImageReference) -> bool | None:
        """Whether a reference is to the component's image; None if tag and digest are unknown, or disagree."""
        if not self.other_digests and not self.other_tags:
            return True
        signs = {
            _sign(reference.tag, self.tags, self.other_tags),
            _sign(reference.digest, self.digests, self.other_digests),
        } - {None}
        return signs.pop() if len(signs) == 1 else None


def _sign(text: str, own: Collection[str], others: Collection[str]) -> bool | None:
    """Whether only `own` has the text (True) or only `others` (False); None if neither or both have it."""
    return None if (text in own) == (text in others) else text in own
