"""What is known of a component's image, and whose a reference is where several components have images of one name."""

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
        """Whether a reference is to the component's image; None where nothing tells, or tag and digest disagree."""
        if not self.other_digests and not self.other_tags:
            return True
        signs = {
            _sign(reference.tag, self.tags, self.other_tags),
            _sign(reference.digest, self.digests, self.other_digests),
        } - {None}
        return signs.pop() if len(signs) == 1 else None


def _sign(text: str, own: Collection[str], others: Collection[str]) -> bool | None:
    """Whether a text is known on one side; None where it is on neither or on both."""
    return None if (text in own) == (text in others) else text in own
