"""The Vendorfile as a pydantic model: the contract with users, the source of its JSON schema."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from krm_merge.krm.validation import StrictModel


class Vendorfile(StrictModel):
    """Where the manifests of a directory come from, so that the next update knows its original."""

    apiVersion: Literal["fn.kpt.dev/v1alpha1"]
    kind: Literal["Vendorfile"]
    metadata: dict[str, Any] = Field(default_factory=dict)
    source: str | None = Field(None, description="Where upstream's manifests come from: a URL, a file, a command.")
    version: str | None = Field(None, description="The version of upstream that was merged last.")
    digest: str = Field(
        pattern="^sha256:[0-9a-f]{64}$", description="The SHA-256 digest of upstream's manifests at that version."
    )
    original: str = Field(
        "Vendorfile.original",
        min_length=1,
        description="The file in this directory with upstream's manifests at that version, as they came.",
    )
