import asyncio
from pathlib import Path

import pytest

from moorage.kube.credentials import Credential, StaticSource, TokenFileSource, Vault
from moorage.kube.errors import CredentialsError


class CountingSource:
    def __init__(self, lifetime: float | None = None) -> None:
        self.fetched = 0
        self._lifetime = lifetime

    async def fetch(self) -> Credential:
        self.fetched += 1
        await asyncio.sleep(0)
        return Credential(f"Bearer {self.fetched}", expires_at=self._lifetime)


async def test_many_requests_share_one_fetch() -> None:
    source = CountingSource()
    vault = Vault(source)
    assert vault.current() is None
    credentials = await asyncio.gather(*(vault.get() for _ in range(5)))
    assert source.fetched == 1
    assert len(set(map(id, credentials))) == 1
    assert vault.current() is credentials[0]


async def test_an_expired_credential_is_fetched_again() -> None:
    now = 0.0
    source = CountingSource(lifetime=100.0)
    vault = Vault(source, wall_clock=lambda: now)
    await vault.get()
    now = 99.0
    assert vault.current() is not None
    now = 100.0
    assert vault.current() is None
    assert (await vault.get()).authorization == "Bearer 2"


async def test_a_refusal_drops_only_the_credential_that_was_refused() -> None:
    source = CountingSource()
    vault = Vault(source)
    old = await vault.get()
    vault.refuse(old)
    new = await vault.get()
    assert new is not old
    vault.refuse(old)  # a slow request comes back with the old one's 401
    assert vault.current() is new


async def test_a_token_file_is_good_for_a_minute(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one\n")
    credential = await TokenFileSource(token).fetch()
    assert credential.authorization == "Bearer one"
    assert credential.expires_at is not None


async def test_token_files_that_are_empty_or_gone_are_named(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="token: No such file"):
        await TokenFileSource(tmp_path / "token").fetch()
    (tmp_path / "token").write_text(" \n")
    with pytest.raises(CredentialsError, match="is empty"):
        await TokenFileSource(tmp_path / "token").fetch()


def test_secrets_do_not_show_in_representations() -> None:
    assert "s3cret" not in repr(StaticSource(Credential("Bearer s3cret")))
