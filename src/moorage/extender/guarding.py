"""Who may ask, and how much: certificates or a token of callers, limits on what they send."""

import hmac
import logging
import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from moorage.errors import InputError

logger = logging.getLogger(__name__)

_TOKEN_LIFETIME: Final = 10.0

NAMES_LIMIT: Final = 16 << 20
WHOLE_NODES_LIMIT: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What a request may take: bytes of body, and seconds to send the head and to send the body."""

    body: int = NAMES_LIMIT
    head_seconds: float = 10.0
    body_seconds: float = 10.0


class Guard:
    """Lets in callers with a certificate of ours (checked by TLS), or with the token; everybody if neither is asked."""

    def __init__(self, *, certificates: bool = False, token_file: Path | None = None) -> None:
        self._certificates = certificates
        self._token_file = token_file
        self._token = b""
        self._read_at = float("-inf")
        if token_file is not None:
            self._current_token()

    @property
    def is_open(self) -> bool:
        """Whether everybody is let in."""
        return not self._certificates and self._token_file is None

    def admits(self, certificate: Any, authorization: str) -> bool:
        """Whether a caller with this certificate and this Authorization header may ask."""
        if self.is_open or (self._certificates and certificate):
            return True
        scheme, _, token = authorization.partition(" ")
        if self._token_file is None or scheme.lower() != "bearer":
            return False
        return hmac.compare_digest(token.strip().encode(), self._current_token())

    def _current_token(self) -> bytes:
        """Read again now and then, since tokens rotate. Raises InputError at the first reading only."""
        assert self._token_file is not None
        now = time.monotonic()
        if now - self._read_at < _TOKEN_LIFETIME:
            return self._token
        try:
            token = self._token_file.read_bytes().strip()
            if not token:
                raise InputError("is empty: expected a token", where=str(self._token_file))
            self._token = token
        except (OSError, InputError) as error:
            if not self._token:
                raise InputError(str(error), where="--token-file") from None
            logger.warning("the token stays as it was: %s", error)
        self._read_at = now
        return self._token


def server_context(certificate: Path, key: Path, client_ca: Path | None) -> ssl.SSLContext:
    """TLS for a server; with `client_ca` certificates of callers are asked for and checked. Raises InputError.

    They are not demanded here: health checks come without any.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise InputError(f"cannot be used: {error}", where=f"--tls-cert {certificate}") from None
    if client_ca is not None:
        try:
            context.load_verify_locations(client_ca)
        except (OSError, ssl.SSLError) as error:
            raise InputError(f"cannot be used: {error}", where=f"--client-ca {client_ca}") from None
        context.verify_mode = ssl.CERT_OPTIONAL
    return context
