"""Who is asking: bearer tokens and client certificates. Everyone known may do everything; nobody else anything."""

import math
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

ADMIN_GROUP = "system:masters"


@dataclass(frozen=True, slots=True)
class User:
    """An authenticated user."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Authenticator:
    """Tells users by their bearer token or client certificate."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._tokens: dict[str, tuple[User, float]] = {}

    def add_token(self, user: User, token: str = "", *, expires: float = math.inf) -> str:
        """Let a user in by a token, a fresh one unless given, until a time. Answers the token."""
        token = token or secrets.token_urlsafe(32)
        self._tokens[token] = (user, expires)
        return token

    def by_token(self, token: str) -> User | None:
        """The user of a bearer token, while it lasts."""
        user, expires = self._tokens.get(token, (None, math.inf))
        if user is not None and self._now() >= expires:
            del self._tokens[token]
            return None
        return user

    def by_header(self, authorization: str) -> User | None:
        """The user of an Authorization header."""
        scheme, _, token = authorization.partition(" ")
        return self.by_token(token.strip()) if scheme.lower() == "bearer" else None

    def by_certificate(self, peer: Mapping[str, Any]) -> User | None:
        """The user of a verified client certificate, as the ssl module describes it."""
        name, groups = "", []
        for part in peer.get("subject", ()):
            for key, value in part:
                if key == "commonName":
                    name = value
                elif key == "organizationName":
                    groups.append(value)
        return User(name, (*groups, "system:authenticated")) if name else None
