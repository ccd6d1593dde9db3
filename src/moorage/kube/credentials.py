"""Tokens and client certificates: where they come from, how long they are good for.

A `Source` can fetch a credential; a `Vault` keeps the one in use, fetches a new one when it expires or the server
refuses it, and lets many requests share one fetch.
"""

import asyncio
import base64
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from moorage.kube.errors import CredentialsError

TOKEN_FILE_LIFETIME = 60.0
"""Seconds until a token file is read again: the kubelet rotates tokens long before they expire."""


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A certificate chain and its key, both PEM."""

    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Credential:
    """What a request carries to say who asks. `expires_at` is seconds of the epoch, None for never."""

    authorization: str = field(default="", repr=False)
    certificate: ClientCertificate | None = None
    expires_at: float | None = None


class Source(Protocol):
    """Where credentials come from."""

    async def fetch(self) -> Credential:
        """A fresh credential, or CredentialsError."""
        ...


@dataclass(frozen=True)
class StaticSource:
    """A credential that never changes: a token or password written into the kubeconfig, or none at all."""

    credential: Credential = field(default_factory=Credential)

    async def fetch(self) -> Credential:
        return self.credential


@dataclass(frozen=True)
class CertificateFileSource:
    """A client certificate and key in files, read again whenever a new credential is asked for."""

    certificate: Path
    key: Path
    authorization: str = field(default="", repr=False)

    async def fetch(self) -> Credential:
        pair = ClientCertificate(read_file(self.certificate), read_file(self.key))
        return Credential(self.authorization, pair)


@dataclass(frozen=True)
class TokenFileSource:
    """A bearer token in a file that somebody else rotates."""

    path: Path
    certificate: ClientCertificate | None = None

    async def fetch(self) -> Credential:
        token = read_file(self.path).decode().strip()
        if not token:
            raise CredentialsError(f"the token file {self.path} is empty")
        return Credential(bearer(token), self.certificate, time.time() + TOKEN_FILE_LIFETIME)


class Vault:
    """Holds the credential in use."""

    def __init__(self, source: Source, *, wall_clock: Callable[[], float] = time.time) -> None:
        self._source = source
        self._wall_clock = wall_clock
        self._credential: Credential | None = None
        self._fetching = asyncio.Lock()

    def current(self) -> Credential | None:
        """The credential in use if it is still good; None when `get` must be awaited. Cheap."""
        credential = self._credential
        if credential is None or credential.expires_at is None:
            return credential
        return credential if self._wall_clock() < credential.expires_at else None

    async def get(self) -> Credential:
        """A good credential; concurrent callers share one fetch."""
        async with self._fetching:
            credential = self.current()
            if credential is None:
                credential = self._credential = await self._source.fetch()
            return credential

    def refuse(self, credential: Credential) -> None:
        """The server answered 401 to `credential`: drop it, unless a newer one has taken its place."""
        if self._credential is credential:
            self._credential = None


def bearer(token: str) -> str:
    """The Authorization value of a bearer token."""
    return f"Bearer {token}"


def basic(username: str, password: str) -> str:
    """The Authorization value of a user name and password."""
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def read_file(path: Path) -> bytes:
    """The bytes of a credentials file, or CredentialsError naming it."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise CredentialsError(f"cannot read {path}: {error.strerror}") from error
