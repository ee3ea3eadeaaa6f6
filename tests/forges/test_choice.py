"""Which forge a repository is on, and which token is for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from krm_merge.forges.choice import Forges, ForgeSettings
from krm_merge.forges.hosted.forgejo import Forgejo
from krm_merge.forges.hosted.github import GitHub
from krm_merge.forges.hosted.gitlab import GitLab
from krm_merge.forges.interface import ForgeError, Pace, host_of
from krm_merge.forges.local import LocalForge

VARIABLES = ("GITHUB_TOKEN", "GITLAB_TOKEN", "FORGEJO_TOKEN")


@pytest.fixture(autouse=True)
def no_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def settings(*options: str, apis: tuple[str, ...] = ()) -> ForgeSettings:
    return ForgeSettings.parse(options, apis, Pace())


def forges(*options: str, apis: tuple[str, ...] = ()) -> Forges:
    return Forges(settings(*options, apis=apis))


class TestKinds:
    @pytest.mark.parametrize(
        ("url", "kind"),
        [
            ("https://github.com/a/b", GitHub),
            ("git@github.com:a/b.git", GitHub),
            ("ssh://git@ssh.github.com:443/a/b", GitHub),
            ("https://octo.ghe.com/a/b", GitHub),
            ("https://github.example.com/a/b", GitHub),
            ("https://gitlab.com/a/b/c", GitLab),
            ("git@gitlab.example.com:a/b/c.git", GitLab),
            ("https://codeberg.org/a/b", Forgejo),
            ("https://gitea.example.com/a/b", Forgejo),
            ("/srv/a.git", LocalForge),
            ("file:///srv/a.git", LocalForge),
        ],
    )
    def test_follow_from_the_host(self, url: str, kind: type) -> None:
        assert type(forges().of(url)) is kind

    def test_are_what_the_user_says(self) -> None:
        chosen = forges("git.example.com=gitlab", "github.example.com=forgejo")
        assert type(chosen.of("https://Git.example.com/a/b")) is GitLab
        assert type(chosen.of("https://github.example.com/a/b")) is Forgejo

    def test_share_one_client_a_host(self) -> None:
        chosen = forges()
        assert chosen.of("https://github.com/a/b") is chosen.of("git@github.com:c/d.git")
        assert chosen.of("https://github.com/a/b") is not chosen.of("https://octo.ghe.com/a/b")

    def test_that_cannot_be_told(self) -> None:
        with pytest.raises(
            ForgeError, match=r"^git\.example\.com: .* add --forge git\.example\.com=KIND, one of github"
        ):
            forges().of("https://me:hidden@git.example.com/a/b")

    def test_a_path_that_is_not_there(self) -> None:
        with pytest.raises(ForgeError, match=r"^child\.git: there is no such repository here; correct the path, or"):
            forges().of("child.git")

    @pytest.mark.parametrize(
        ("options", "apis", "message"),
        [
            (("github",), (), "--forge github: it must be HOST=KIND, and KIND one of github, gitlab, forgejo"),
            (("x=y",), (), "--forge x=y: it must be HOST=KIND, and KIND one of github, gitlab, forgejo"),
            ((), ("https://x/api/v4",), "--api https://x/api/v4: it must be like HOST=https://HOST/api/v4"),
            ((), ("https://x?token=hidden",), "--api https://x: it must be like"),
            ((), ("git.example.com=https://x/api/v4",), "add --forge git.example.com=KIND"),
        ],
    )
    def test_that_are_none(self, options: tuple[str, ...], apis: tuple[str, ...], message: str) -> None:
        with pytest.raises(ForgeError) as raised:
            forges(*options, apis=apis)
        assert message in str(raised.value)
        assert "hidden" not in str(raised.value)

    @pytest.mark.parametrize("kind", ["github", "gitlab", "forgejo"])
    def test_an_unsafe_api_is_refused(self, kind: str) -> None:
        chosen = forges(f"git.example.com={kind}", apis=("git.example.com=http://git.example.com/api",))
        with pytest.raises(ForgeError, match="the address of the API must be like https://"):
            chosen.of("https://git.example.com/a/b")

    def test_without_their_libraries_say_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "krm_merge.forges.hosted.github", None)
        monkeypatch.delattr("krm_merge.forges.hosted.github", raising=False)
        with pytest.raises(
            ForgeError, match=r"^github\.com needs the .*; in a checkout, install it with: pip install '\.\[forges\]'"
        ):
            forges().of("https://github.com/a/b")
        assert type(forges().of("/srv/a.git")) is LocalForge


class TestTokens:
    def token(self, chosen: ForgeSettings, url: str) -> str:
        return chosen.token_of(host_of(url)).secret

    def test_of_a_kind_are_for_its_public_host_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for kind in ("GITHUB", "GITLAB", "FORGEJO"):
            monkeypatch.setenv(f"{kind}_TOKEN", kind.lower())
        chosen = settings()
        hosts = {"github": "github.com", "gitlab": "gitlab.com", "forgejo": "codeberg.org"}
        assert {kind: self.token(chosen, f"https://{host}/a/b") for kind, host in hosts.items()} == {
            kind: kind for kind in hosts
        }
        for host in ("github.evil.example", "gitlab.evil.example", "gitea.evil.example"):
            assert self.token(chosen, f"https://{host}/a/b") == ""

    def test_of_a_kind_are_for_the_one_host_that_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GITLAB_TOKEN", "secret")
        chosen = settings("git.example.com=gitlab")
        assert self.token(chosen, "https://git.example.com/a/b") == "secret"
        assert self.token(chosen, "https://gitlab.com/a/b") == ""
        two = settings("git.example.com=gitlab", "other.example.com=gitlab")
        assert self.token(two, "https://git.example.com/a/b") == ""

    def test_of_a_host_come_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GITHUB_TOKEN", "usual")
        monkeypatch.setenv("KRM_MERGE_TOKEN_GITHUB_COM", "own\n")
        monkeypatch.setenv("KRM_MERGE_TOKEN_MY_GIT_EXAMPLE_COM", "other")
        chosen = settings("my-git.example.com=forgejo")
        assert self.token(chosen, "https://github.com/a/b") == "own"
        assert self.token(chosen, "https://my-git.example.com/a/b") == "other"

    def test_are_in_gits_credential_helpers(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        answer = "echo username=me; echo password=from-$host"
        helper = (
            f"!f() {{ while read -r line; do case $line in host=*) host=${{line#host=}};; esac; done; {answer}; }}; f"
        )
        quoted = helper.replace('"', '\\"')
        (tmp_path / "gitconfig").write_text(f'[credential]\n\thelper = "{quoted}"\n')
        assert self.token(settings(), "https://gitlab.com/a/b") == "from-gitlab.com"
        monkeypatch.setenv("GITLAB_TOKEN", "secret")
        assert self.token(settings(), "https://gitlab.com/a/b") == "secret"

    def test_are_asked_of_nobody(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        marker = tmp_path / "asked"
        program = tmp_path / "askpass"
        program.write_text(f"#!/bin/sh\ntouch {marker}\necho hidden\n")
        program.chmod(0o755)
        for name in ("GIT_ASKPASS", "SSH_ASKPASS"):
            monkeypatch.setenv(name, str(program))
        assert self.token(settings(), "https://github.com/a/b") == ""
        assert not marker.exists()
