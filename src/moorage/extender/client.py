"""One configured extender, asked over HTTP as kube-scheduler asks it: what is sent, and what counts as an answer.

Every way to fail is an ExtenderError that names the URL and shows how the answer begins; what follows from it (the pod
fails, or goes on without an extender that may be ignored) is for who asks. One request each, no repeats.
"""

import base64
import ssl
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

from moorage.config import Extender, ExtenderTLSConfig
from moorage.engine.asking import DEFAULT_PATIENCE, ChosenVictims, FilterAnswer, PreemptAnswer
from moorage.errors import ApiError, ExtenderError, InputError
from moorage.extender import wire
from moorage.extender.breaker import Breaker
from moorage.kube.access import ClusterAccess
from moorage.kube.credentials import ClientCertificate
from moorage.kube.errors import AnswerTooLong, DeadlineExceeded
from moorage.kube.http1 import Pool
from moorage.kube.tls import client_context
from moorage.values.int64 import wrapped

T = TypeVar("T")

DEFAULT_BREAKER: Final = 5
CONNECTIONS: Final = 256

ANSWER_LIMIT: Final = 4 << 20
"""Bytes an answer may have beside twice what was sent: whole nodes come back, or a reason for each of them."""

_SHOWN: Final = 200

#: Told of each request: the extender's URL, the verb, how it ended (ok, refused, error, timeout, junk, cancelled, or
#: left_alone by the breaker), and the seconds it took.
Observe = Callable[[str, str, str, float], None]


def unobserved(_url: str, _verb: str, _outcome: str, _seconds: float) -> None:
    """Nobody counts requests."""


@dataclass(frozen=True, slots=True)
class NodesInQuestion:
    """The nodes an extender is asked about; `objects` only for one that keeps no nodes of its own."""

    names: Sequence[str]
    objects: Sequence[wire.RawObject] | None = None


class ExtenderClient:
    """Asks one extender. Use it as an async context manager."""

    def __init__(
        self,
        config: Extender,
        *,
        breaker: int = DEFAULT_BREAKER,
        answer_limit: int = ANSWER_LIMIT,
        observe: Observe = unobserved,
        now: Callable[[], float] = time.monotonic,
        where: str = "extenders",
    ) -> None:
        """Raises InputError, which names `where` and the field, for an address or certificates that are none."""
        self.config = config
        self.url = config.url_prefix
        self.breaker = Breaker(breaker, now)
        self._answer_limit = answer_limit
        self._observe = observe
        self._now = now
        self._timeout = config.http_timeout.seconds or DEFAULT_PATIENCE
        url = _checked_url(config.url_prefix, f"{where}.urlPrefix")
        self._path = url.path.rstrip("/")
        self._head = _fixed_head(url)
        secure = url.scheme == "https"
        self._pool = Pool(
            url.hostname or "",
            url.port or (443 if secure else 80),
            size=CONNECTIONS,
            tls=_tls_context(config, f"{where}.tlsConfig") if secure else None,
            server_hostname=(config.tls_config.server_name or None) if secure and config.tls_config else None,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        await self._pool.close()

    async def filter(self, pod: wire.RawObject, nodes: NodesInQuestion) -> FilterAnswer:
        """Which of the nodes pass."""
        return await self._ask(self.config.filter_verb, _args(pod, nodes), lambda answer: _filtered(answer, nodes))

    async def prioritize(self, pod: wire.RawObject, nodes: NodesInQuestion) -> dict[str, int]:
        """The scores, as the extender gave them (0 to 10, which nobody checks); given twice, they add up."""
        return await self._ask(self.config.prioritize_verb, _args(pod, nodes), lambda answer: _scores(answer, nodes))

    async def preempt(self, args: wire.PreemptionArgs) -> PreemptAnswer:
        """The candidates that are left, each with its victims. Whether those exist is for who knows the nodes."""
        return await self._ask(self.config.preempt_verb, wire.encode(args), _left)

    async def bind(self, *, namespace: str, name: str, uid: str, node_name: str) -> None:
        """Have the extender bind the pod. An ExtenderError does not say that the pod is not bound."""
        args = wire.BindingArgs(name, namespace, uid, node_name)
        await self._ask(self.config.bind_verb, wire.encode(args), _bound)

    async def _ask(self, verb: str, body: bytes, read: Callable[[bytes], T]) -> T:
        """Send, and read the answer. The breaker learns from what happens; so does whoever observes."""
        if not self.breaker.admit():
            self._observe(self.url, verb, "left_alone", 0.0)
            raise ExtenderError(self.url, self._why_left_alone())
        started = self._now()
        outcome = "cancelled"
        try:
            result = await self._attempt(verb, body, read)
            outcome = "ok"
        except _Refused as refusal:
            # It works, and says no.
            outcome = "refused"
            self.breaker.succeeded()
            raise ExtenderError(self.url, str(refusal)) from None
        except _Failed as failure:
            outcome = failure.outcome
            self.breaker.failed(str(failure))
            raise ExtenderError(self.url, str(failure)) from failure.__cause__
        finally:
            if outcome == "cancelled":
                self.breaker.abandoned()
            self._observe(self.url, verb, outcome, self._now() - started)
        self.breaker.succeeded()
        return result

    async def _attempt(self, verb: str, body: bytes, read: Callable[[bytes], T]) -> T:
        head = f"POST {self._path}/{verb} HTTP/1.1\r\n{self._head}Content-Length: {len(body)}\r\n\r\n"
        limit = self._answer_limit + 2 * len(body)
        try:
            answer = await self._pool.exchange(head.encode("latin-1") + body, self._timeout, limit=limit)
        except AnswerTooLong as error:
            raise _Failed("junk", f"{verb}: the answer is junk: {error}{_beginning(error.start)}") from None
        except DeadlineExceeded as error:
            raise _Failed("timeout", f"{verb}: {error}") from error
        except (ApiError, OSError) as error:
            raise _Failed("error", f"{verb}: {error}") from error
        if answer.status != 200:
            where = f"{self.url.rstrip('/')}/{verb}"
            code = f"failed {verb} with extender at URL {where}, code {answer.status}"
            raise _Failed("error", f"{code}{_beginning(answer.body)}")
        try:
            return read(answer.body)
        except wire.WireError as error:
            raise _Failed("junk", f"{verb}: the answer is junk: {error}{_beginning(answer.body)}") from None

    def _why_left_alone(self) -> str:
        left = self.breaker.seconds_left
        when = f"in {left:.0f} s" if left else "just now"
        return f"left alone after failing several times in a row ({self.breaker.last_problem}); tried again {when}"


class _Refused(Exception):
    """The extender answered properly, with an Error."""


class _Failed(Exception):
    """There was no answer, or none that counts."""

    def __init__(self, outcome: str, problem: str) -> None:
        super().__init__(problem)
        self.outcome = outcome


# ------------------------------------------------------------------------------------------------------------- messages


def _args(pod: wire.RawObject, nodes: NodesInQuestion) -> bytes:
    if nodes.objects is None:
        return wire.encode(wire.Args(pod, node_names=nodes.names))
    return wire.encode(wire.Args(pod, wire.NodeList(items=nodes.objects)))


def _filtered(answer: bytes, nodes: NodesInQuestion) -> FilterAnswer:
    result = wire.read_filter_result(answer)
    if result.error:
        raise _Refused(result.error)
    passed: Sequence[str] = ()
    if nodes.objects is None and result.node_names is not None:
        passed = result.node_names
    elif result.nodes is not None:
        passed = wire.names_of(result.nodes.items or ())
    asked = set(nodes.names)
    kept = frozenset(passed)
    if not kept <= asked:
        stranger = next(name for name in passed if name not in asked)
        raise wire.WireError(f'claims a filtered node "{stranger}" which is not found in the input node list')
    unresolvable = _about(asked, result.failed_and_unresolvable_nodes)
    failed = {name: text for name, text in _about(asked, result.failed_nodes).items() if name not in unresolvable}
    return FilterAnswer(kept, failed, unresolvable)


def _about(asked: Collection[str], reasons: Mapping[str, str] | None) -> dict[str, str]:
    return {name: text for name, text in (reasons or {}).items() if name in asked}


def _scores(answer: bytes, nodes: NodesInQuestion) -> dict[str, int]:
    asked = set(nodes.names)
    priorities = wire.read_priorities(answer)
    scores = {priority.host: priority.score for priority in priorities}
    if len(scores) == len(priorities) and scores.keys() <= asked:
        return scores
    scores = {}
    for priority in priorities:
        if priority.host in asked:
            scores[priority.host] = wrapped(scores.get(priority.host, 0) + priority.score)
    return scores


def _left(answer: bytes) -> PreemptAnswer:
    result = wire.read_preemption_result(answer)
    return PreemptAnswer(
        {
            node: ChosenVictims(tuple(pod.uid for pod in victims.pods or ()), victims.pdb_violations)
            for node, victims in (result.meta_victims or {}).items()
        }
    )


def _bound(answer: bytes) -> None:
    result = wire.read_binding_result(answer)
    if result.error:
        raise _Refused(result.error)


def _beginning(answer: bytes) -> str:
    text = " ".join(answer[:_SHOWN].decode(errors="replace").split())
    more = "..." if len(answer) > _SHOWN else ""
    return f" (it begins {text + more!r})" if text else ""


# ------------------------------------------------------------------------------------------------------------ address


def _checked_url(prefix: str, where: str) -> SplitResult:
    try:
        url = urlsplit(prefix)
        good = url.scheme in ("http", "https") and bool(url.hostname) and (url.port or 1) > 0
    except ValueError:
        good = False
    if not good or not prefix.isascii() or not prefix.isprintable() or " " in prefix:
        raise InputError(f"expected http://HOST:PORT/PATH or https://..., got {prefix!r}", where=where)
    return url


def _fixed_head(url: SplitResult) -> str:
    host = url.netloc.rpartition("@")[2]
    lines = [f"Host: {host}", "User-Agent: moorage", "Content-Type: application/json"]
    if url.username is not None:
        user = f"{unquote(url.username)}:{unquote(url.password or '')}"
        lines.append(f"Authorization: Basic {base64.b64encode(user.encode()).decode()}")
    return "".join(f"{line}\r\n" for line in lines)


def _tls_context(config: Extender, where: str) -> ssl.SSLContext:
    """enableHTTPS without any CA means, as in kube-scheduler, that the certificate is not checked."""
    tls = config.tls_config or ExtenderTLSConfig()
    authority = tls.ca_data or _file(tls.ca_file, f"{where}.caFile")
    certificate = tls.cert_data or _file(tls.cert_file, f"{where}.certFile")
    key = tls.key_data or _file(tls.key_file, f"{where}.keyFile")
    if bool(certificate) != bool(key):
        raise InputError("a client certificate needs its key, and a key its certificate", where=where)
    access = ClusterAccess(
        config.url_prefix,
        certificate_authority=authority or None,
        insecure=tls.insecure or (config.enable_https and not authority),
        tls_server_name=tls.server_name,
    )
    try:
        return client_context(access, ClientCertificate(certificate, key) if certificate else None)
    except InputError as error:
        raise InputError(error.problem, where=where) from None


def _file(path: str, where: str) -> bytes:
    if not path:
        return b""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", where=where) from None
