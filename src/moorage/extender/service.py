"""An extender: requests of a scheduler in, answers out. HTTP is for who mounts it (`mounting`).

Where a message has an Error, what goes wrong is said there with 200: of other codes kube-scheduler shows the number
alone. Answers to prioritize and preempt have no such place; there the code has to do.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from moorage.attempt.background import Background
from moorage.cluster import ClusterState, needed_kinds
from moorage.columns import PodInfo, Snapshot
from moorage.config import Config
from moorage.engine import make_engine
from moorage.engine.engine import default_registry
from moorage.errors import InputError, MoorageError
from moorage.extender import wire
from moorage.extender.binding import Binder, BindHost
from moorage.extender.configuring import plugins_config, register
from moorage.extender.deciding import Candidate, Crowded, Decider
from moorage.extender.following import Nodes, make_informers, pods_by_uid
from moorage.extender.metering import Meter
from moorage.extender.promises import Promises
from moorage.framework.faults import Faults
from moorage.framework.registrations import kinds_written
from moorage.framework.registry import Registry
from moorage.kube.access import ClusterAccess, load_access
from moorage.kube.fencing import FencedClient
from moorage.kube.informer import run_informers
from moorage.kube.lanes import Lanes
from moorage.kube.recorder import EventRecorder
from moorage.kube.tasks import Tasks
from moorage.kube.transport import Client
from moorage.objects import Node, Pod, decode

logger = logging.getLogger(__name__)

FILTER, PRIORITIZE, PREEMPT, BIND = "filter", "prioritize", "preempt", "bind"

PATIENCE: Final = 1.0
"""Seconds a filter waits for room that is promised to pods being bound, which is mostly settled within milliseconds.
Then comes an error, after which schedulers ask again."""

LAST_EVENTS: Final = 1.0
"""Seconds that events which are not written yet are waited for at the end."""

_CLIENT_CONNECTIONS: Final = 32


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back: JSON, or with another status than 200 a line of text."""

    body: bytes
    status: int = 200


class ExtenderService:
    """Serves the plugins of a profile to schedulers. An async context manager: inside, it follows the cluster, and its
    plugins live: `start` is called once the cluster has been read, `stop` at the end.

    `access` is None for an extender that is sent whole nodes (nodeCacheCapable false) and knows no more than those: no
    pods, and no binding. `may_act` is asked before every write, and before every answer.
    """

    def __init__(
        self,
        config: Config,
        registry: Registry,
        access: ClusterAccess | None,
        *,
        may_act: Callable[[], bool] = lambda: True,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        if len(config.profiles) != 1:
            raise InputError(f"expected one profile, got {len(config.profiles)}", where="profiles")
        self.meter = Meter()
        self.cluster = ClusterState(Snapshot(config.features.request_rules))
        self._access = access
        self._may_act = may_act
        self._stack = AsyncExitStack()
        self._synced = asyncio.Event()
        self._room = asyncio.Event()
        self._following: asyncio.Task[None] | None = None
        self._telling: asyncio.Task[None] | None = None
        self._client = Client(access, connections=_CLIENT_CONNECTIONS) if access is not None else None
        self._config, self._registry = config, registry
        self._now = now
        self._faults = Faults()
        self._background = Background(world=Tasks(), faults=self._faults)
        self._promises = Promises(now, on_change=self._room.set)
        self._binder: Binder | None = None
        self._build()

    def _build(self) -> None:
        client = lanes = None
        self._recorder: EventRecorder | None = None
        if self._client is not None:
            connection = self._config.client_connection
            lanes = Lanes(
                self._client, qps=connection.qps, burst=connection.burst, may_act=self._may_act, clock=time.monotonic
            )
            client = FencedClient(self._client, lanes)
            self._recorder = EventRecorder(lanes, controller=self._config.profiles[0].scheduler_name)
        host = BindHost(client, lanes, self._background, self._recorder)
        engine = make_engine(
            self.cluster.snapshot, self._config, registry=self._registry, host=host, faults=self._faults
        )
        (runner,) = engine.runners.values()
        #: What is served: what the plugins given have something to say on.
        self.verbs = verbs_of(runner.profile.at, follows=self._client is not None)
        binds = BIND in self.verbs
        self._decider = Decider(runner, None if binds or self._client is None else self._promises)
        self._plugins = list(runner.profile.plugins.items())
        self._kinds = needed_kinds(self._plugins, {})
        for name, plugin in self._plugins:
            kinds_written(name, plugin)
        if binds and self._client is not None:
            self._binder = Binder(runner, self._decider, self.cluster, self._client)
        self._answers: Mapping[str, Callable[[bytes], Awaitable[bytes]]] = {
            FILTER: self._filter,
            PRIORITIZE: self._prioritize,
            PREEMPT: self._preempt,
            BIND: self._bind,
        }

    def plugin(self, name: str) -> Any:
        """The instance of a plugin."""
        return dict(self._plugins)[name]

    @property
    def is_ready(self) -> bool:
        """Whether the cluster is known, answers are ours to give, and what plugins have running runs."""
        return not self.trouble

    @property
    def trouble(self) -> str:
        """Why it is not ready; "" where it is."""
        if self._client is not None and not self._synced.is_set():
            return "the cluster has not been read yet"
        if not self._may_act():
            return "another replica leads"
        dead = self._background.dead
        return f"{', '.join(dead)} has broken: the log says how" if dead else ""

    async def __aenter__(self) -> Self:
        if self._client is not None:
            await self._stack.enter_async_context(self._client)
            informers = make_informers(self._client, self.cluster, self._kinds, self._promises.withdraw)
            self._following = asyncio.create_task(run_informers(informers, on_synced=self._on_synced))
            self._following.add_done_callback(_log_end)
            assert self._recorder is not None, "who follows a cluster can tell people"
            self._telling = asyncio.create_task(self._recorder.run())
        else:
            self._on_synced()
        return self

    def _on_synced(self) -> None:
        """What there is to know is known: the plugins begin."""
        self._synced.set()
        self._background.start(self._plugins)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._binder is not None:
            await self._binder.close()
        await self._background.stop()
        if self._telling is not None and self._recorder is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_EVENTS):
                    await self._recorder.drain()
            self._telling.cancel()
            await asyncio.wait([self._telling])
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])
        await self._stack.aclose()

    async def wait_until_synced(self) -> None:
        """Until the cluster has been read once."""
        if self._client is not None:
            await self._synced.wait()

    # ----------------------------------------------------------------------------------------------------- answering

    async def answer(self, verb: str, body: bytes) -> Reply:
        """The answer to a request. Never raises but for bugs of ours, and those are answered with 500."""
        if verb not in self.verbs:
            return Reply(f"{verb} is not served here; served: {', '.join(self.verbs)}\n".encode(), 404)
        started = self._now()
        outcome = "ok"
        try:
            if not self._may_act():
                raise Unavailable("this replica is not the leader: ask another")
            if self._client is not None and not self._synced.is_set():
                raise Unavailable("the cluster has not been read yet: try again")
            return Reply(await self._answers[verb](body))
        except MoorageError as problem:
            outcome = "bad_request" if isinstance(problem, wire.WireError | InputError) else "error"
            logger.log(logging.INFO if isinstance(problem, Crowded) else logging.WARNING, "%s: %s", verb, problem)
            return _failure(verb, str(problem), 400 if outcome == "bad_request" else 500)
        except Exception as problem:
            outcome = "error"
            logger.exception("%s broke", verb)
            return _failure(verb, f"{type(problem).__name__}: {problem}", 500)
        finally:
            self.meter.count(verb, outcome, self._now() - started)

    async def _filter(self, body: bytes) -> bytes:
        args = wire.read_args(body)
        pod = self._pod(args.pod)
        names = self._names(args)
        deadline = self._now() + PATIENCE
        while True:
            self._room.clear()
            try:
                answer = self._decider.filter(pod, names)
                break
            except Crowded:
                left = deadline - self._now()
                if left <= 0 or not await _within(self._room, left):
                    raise
        nodes = None
        if args.nodes is not None:
            items = args.nodes.items or ()
            named = zip(wire.names_of(items), items, strict=True)
            nodes = wire.NodeList(items=[raw for name, raw in named if name in answer.passed])
        passed = [name for name in names if name in answer.passed]
        by_name = args.node_names is not None or nodes is None
        return wire.encode(
            wire.FilterResult(nodes, passed if by_name else None, answer.failed, answer.unresolvable),
        )

    async def _prioritize(self, body: bytes) -> bytes:
        args = wire.read_args(body)
        scores = self._decider.prioritize(self._pod(args.pod), self._names(args))
        return wire.encode([wire.HostPriority(name, score) for name, score in scores.items()])

    async def _preempt(self, body: bytes) -> bytes:
        args = wire.read_preemption_args(body)
        left = self._decider.preempt(self._pod(args.pod), self._candidates(args))
        return wire.encode(
            wire.PreemptionResult(
                {
                    name: wire.MetaVictims([wire.MetaPod(uid) for uid in victims.uids], victims.violations)
                    for name, victims in left.items()
                }
            )
        )

    async def _bind(self, body: bytes) -> bytes:
        assert self._binder is not None
        await self._binder.bind(wire.read_binding_args(body))
        return wire.encode(wire.BindingResult())

    # ------------------------------------------------------------------------------------------------------- reading

    def _pod(self, raw: wire.RawObject) -> PodInfo:
        pod = self.cluster.snapshot.info(decode(bytes(raw), Pod))
        _ = pod.request
        return pod

    def _names(self, args: wire.Args) -> Sequence[str]:
        """The nodes in question. Names count; whole nodes do where no cluster is followed."""
        if self._client is None and args.nodes is not None:
            return self._take_nodes(args.nodes)
        if args.node_names is not None:
            return list(dict.fromkeys(args.node_names))
        return wire.names_of(args.nodes.items or ()) if args.nodes is not None else []

    def _take_nodes(self, sent: wire.NodeList) -> list[str]:
        """Without a cluster to follow, the nodes that are sent are all the nodes there are."""
        handler, table = Nodes(self.cluster.snapshot), self.cluster.snapshot.nodes
        names = []
        for raw in sent.items or ():
            node = decode(bytes(raw), Node)
            known = table.get(node.metadata.name)
            if known is None or known.node != node:
                handler.added(node)
            names.append(node.metadata.name)
        for gone in {node.name for node in table} - set(names):
            table.remove_node(gone)
        return names

    def _candidates(self, args: wire.PreemptionArgs) -> dict[str, Candidate]:
        """Victims by node, as far as they are known here: of others nothing can be said."""
        proposed: dict[str, tuple[list[str], int]] = {}
        for name, meta in (args.meta_victims or {}).items():
            proposed[name] = [pod.uid for pod in meta.pods or ()], meta.pdb_violations
        for name, whole in (args.victims or {}).items() if not proposed else ():
            proposed[name] = [decode(bytes(raw), Pod).metadata.uid for raw in whole.pods or ()], whole.pdb_violations
        candidates = {}
        for name, (uids, violations) in proposed.items():
            pods = pods_by_uid(self.cluster, name, uids)
            if pods is not None:
                candidates[name] = Candidate(pods, violations)
        return candidates


class Unavailable(MoorageError):
    """Nothing can be answered at the moment."""


def make_extender(
    *plugins: str | type, kubeconfig: str = "", config: str | Path = "", whole_nodes: bool = False
) -> ExtenderService:
    """An extender of these plugins (classes, module:Class, file.py:Class), to be mounted in an application.

    It follows the cluster that `kubeconfig` names (else as kubectl would find it); with `whole_nodes` none. `config` is
    a file with the plugins' arguments and weights. Raises InputError.
    """
    registry = default_registry()
    names = register(registry, plugins)
    text = Path(config).read_bytes() if config else None
    access = None if whole_nodes else load_access(kubeconfig)
    return ExtenderService(plugins_config(registry, names, text, str(config)), registry, access)


def verbs_of(at: Callable[[str], Sequence[object]], *, follows: bool) -> tuple[str, ...]:
    """The verbs that plugins at these points have something to say on; without a cluster to follow nothing is bound."""
    verbs = []
    if at("preFilter") or at("filter"):
        verbs.append(FILTER)
    if at("score"):
        verbs.append(PRIORITIZE)
    if FILTER in verbs and follows:
        verbs.append(PREEMPT)
    # Everybody has a Bind plugin: it is the plugins' own work around it that makes binding worth taking over.
    if follows and (at("reserve") or at("preBind") or at("postBind") or len(at("bind")) > 1):
        verbs.append(BIND)
    return tuple(verbs)


def _failure(verb: str, problem: str, status: int) -> Reply:
    if verb == FILTER:
        return Reply(wire.encode(wire.FilterResult(error=problem)))
    if verb == BIND:
        return Reply(wire.encode(wire.BindingResult(problem)))
    return Reply(f"{problem}\n".encode(), status)


async def _within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


def _log_end(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (problem := task.exception()) is not None:
        logger.error("the cluster is not followed any more: %s", problem)
