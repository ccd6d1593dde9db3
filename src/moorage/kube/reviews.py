"""Asking the cluster who a token belongs to and what that user may do, for HTTPS endpoints of our own.

Answers are kept for a short time, as every Kubernetes component does, so that a scraper does not double its requests.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import msgspec

from moorage.kube.errors import BadAnswer
from moorage.kube.paths import resource_of
from moorage.kube.transport import Client

ANSWER_LIFETIME = 10.0
"""Seconds an answer is kept."""
_ANSWERS_KEPT = 1024

_TOKEN_REVIEWS = resource_of("TokenReview")
_ACCESS_REVIEWS = resource_of("SubjectAccessReview")

_Answer = TypeVar("_Answer")


class UserInfo(msgspec.Struct, frozen=True):
    """Who somebody is, in the cluster's eyes."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class _TokenReviewStatus(msgspec.Struct):
    authenticated: bool = False
    user: UserInfo = UserInfo()


class _TokenReview(msgspec.Struct):
    status: _TokenReviewStatus = msgspec.field(default_factory=_TokenReviewStatus)


class _AccessReviewStatus(msgspec.Struct):
    allowed: bool = False
    denied: bool = False


class _AccessReview(msgspec.Struct):
    status: _AccessReviewStatus = msgspec.field(default_factory=_AccessReviewStatus)


class Reviewer:
    """Token reviews and access reviews. An ApiError means that the cluster could not say."""

    def __init__(self, client: Client, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._users: _Answers[UserInfo | None] = _Answers(clock)
        self._permissions: _Answers[bool] = _Answers(clock)

    async def authenticate(self, token: str) -> UserInfo | None:
        """The user a bearer token belongs to; None when the cluster does not know it."""
        key = hashlib.sha256(token.encode()).digest()
        known = self._users.get(key)
        if known is not None:
            return known[0]
        review = {"apiVersion": _TOKEN_REVIEWS.api_version, "kind": "TokenReview", "spec": {"token": token}}
        answer = await self._client.post(_TOKEN_REVIEWS.path(), msgspec.json.encode(review))
        status = _decode(answer, _TokenReview).status
        return self._users.keep(key, status.user if status.authenticated else None)

    async def authorize(self, user: UserInfo, *, verb: str, path: str) -> bool:
        """Whether `user` may do `verb` (get, put, delete) on a path that is no API object, such as /metrics."""
        key = user.username, user.uid, user.groups, tuple(sorted(user.extra.items())), verb, path
        known = self._permissions.get(key)
        if known is not None:
            return known[0]
        spec = {
            "nonResourceAttributes": {"path": path, "verb": verb},
            "user": user.username,
            "groups": user.groups,
            "uid": user.uid,
            "extra": user.extra,
        }
        review = {"apiVersion": _ACCESS_REVIEWS.api_version, "kind": "SubjectAccessReview", "spec": spec}
        answer = await self._client.post(_ACCESS_REVIEWS.path(), msgspec.json.encode(review))
        status = _decode(answer, _AccessReview).status
        return self._permissions.keep(key, status.allowed and not status.denied)


class _Answers(Generic[_Answer]):
    """Answers for as long as they are good, and no more than a few."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: OrderedDict[Hashable, tuple[float, _Answer]] = OrderedDict()

    def get(self, key: Hashable) -> tuple[_Answer] | None:
        """The answer in a one-tuple, since an answer may itself be None; None when there is none."""
        kept = self._kept.get(key)
        return (kept[1],) if kept is not None and self._clock() < kept[0] else None

    def keep(self, key: Hashable, answer: _Answer) -> _Answer:
        self._kept[key] = self._clock() + ANSWER_LIFETIME, answer
        self._kept.move_to_end(key)
        while len(self._kept) > _ANSWERS_KEPT:
            self._kept.popitem(last=False)
        return answer


def _decode(answer: bytes, kind: type[_Answer]) -> _Answer:
    try:
        return msgspec.json.decode(answer, type=kind)
    except msgspec.DecodeError as error:
        raise BadAnswer(f"not a review: {error}") from error
