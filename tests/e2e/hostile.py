"""A folder that git takes for a repository, whose settings start programs; each leaves a mark with its name."""

from __future__ import annotations

from pathlib import Path

from packages.repositories import Text

STARTED_BY_SETTINGS = {
    "fsmonitor": ("core", "fsmonitor"),
    "ssh": ("core", "sshCommand"),
    "askpass": ("core", "askPass"),
    "pager": ("core", "pager"),
    "editor": ("core", "editor"),
    "alternates": ("core", "alternateRefsCommand"),
    "clean": ('filter "x"', "clean"),
    "smudge": ('filter "x"', "smudge"),
    "process": ('filter "x"', "process"),
    "textconv": ('diff "x"', "textconv"),
    "diff-command": ('diff "x"', "command"),
    "external-diff": ("diff", "external"),
    "merge-driver": ('merge "x"', "driver"),
    "gpg": ("gpg", "program"),
    "credentials": ("credential", "helper"),
    "pack-objects": ("uploadpack", "packObjectsHook"),
    "upload-pack": ('remote "origin"', "uploadpack"),
}
"""Where in a repository's settings programs are named, by the name of the mark."""
HOOKS = ("post-index-change", "reference-transaction", "pre-push", "pre-commit", "post-checkout", "fsmonitor-watchman")


def repository_files(marks: Path) -> dict[str, Text | None]:
    """The files that make a folder such a repository; programs leave their marks in `marks`."""

    def leave(name: str) -> str:
        return f"touch {marks}/{name} #"

    settings = [
        "[core]\n repositoryformatversion = 1\n bare = false\n worktree = .\n hooksPath = hooks",
        "[extensions]\n partialClone = origin",
        "[protocol]\n allow = always",
        '[protocol "ext"]\n allow = always',
        f'[url "ext::touch {marks}/other-address "]\n insteadOf = file://\n insteadOf = https://',
        f'[remote "origin"]\n url = ext::touch {marks}/promisor\n promisor = true',
        "[submodule]\n recurse = true",
        "[commit]\n gpgSign = true",
        "[include]\n path = more",
    ]
    for name, (section, setting) in STARTED_BY_SETTINGS.items():
        settings.append(f'[{section}]\n {setting} = "{leave(name)}"')
    hook = "#!/bin/sh\ntouch {}/hook-{}\n"
    return {
        "HEAD": "ref: refs/heads/main\n",
        "config": "\n".join(settings) + "\n",
        "more": f'[core]\n fsmonitor = "{leave("include")}"\n',
        "objects/k": "",
        "refs/k": "",
        ".gitattributes": "* filter=x diff=x merge=x\n",
        "krm-merge/choices.yaml": "not: [even, a, policy\n",
        **{f"hooks/{name}": hook.format(marks, name) for name in HOOKS},
    }


def arm(folder: Path) -> None:
    """Makes the hooks in a folder executable."""
    for hook in (folder / "hooks").iterdir():
        hook.chmod(0o755)
