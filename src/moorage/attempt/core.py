"""The parts of a scheduler put together over a world. Where events come from, and who drives it, is the host's."""

from collections.abc import Callable
from typing import Any, Final

from moorage.attempt import reporting
from moorage.attempt.background import Background
from moorage.attempt.binding import Bindings
from moorage.attempt.failing import FailureHandler
from moorage.attempt.groups import GroupAttempts
from moorage.attempt.groupstatuses import GroupStatusWriter
from moorage.attempt.halfbound import HalfBoundGangs
from moorage.attempt.hosting import PluginHost
from moorage.attempt.inquiries import MOST_ASKING
from moorage.attempt.missinggroups import MissingGroups
from moorage.attempt.permits import HeldPods
from moorage.attempt.placing import Placer
from moorage.attempt.preempting import Evictions
from moorage.attempt.scheduling import Attempts
from moorage.attempt.statuses import StatusWriter
from moorage.attempt.underway import UnderWay
from moorage.attempt.world import World
from moorage.cluster import ClusterState, NodeEvents, PodEvents, profile_hints
from moorage.columns import PodInfo, Snapshot
from moorage.columns.groups import PodGroups
from moorage.config import Config
from moorage.config.gates import COMPOSITE_POD_GROUP, GENERIC_WORKLOAD, QUEUED_POD_GROUPS
from moorage.engine import make_engine
from moorage.framework.faults import Faults
from moorage.framework.registry import Registry
from moorage.queue import HintObserver, QueuedEntity, QueuedGroup, SchedulingQueue

#: The plugin that turns groups of scheduling.x-k8s.io on.
COSCHEDULING: Final = "Coscheduling"


class SchedulerCore:
    """Everything between the events of a cluster and the world that is written to. Complete once it is made.

    pod_events, node_events    tell them what changes
    attempts                   run_next() while the queue has something to give; tick() at next_tick
    wind_up                    finish what is on its way, undo what is not
    """

    def __init__(
        self,
        *,
        world: World,
        config: Config,
        registry: Registry,
        seed: int,
        puts_off: bool = False,
        observe_hint: HintObserver | None = None,
        wake: Callable[[], None] = lambda: None,
        questions: int = MOST_ASKING,
        groups_rest: bool = True,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """`seed` is where all chance comes from. `wake` is called when the queue may have something to give that no
        event brought. With `puts_off` whoever drives the queue asks hints in slices (queue.work), else nobody waits.
        At most `questions` pods wait for extenders at once. With `groups_rest` every group is one in the queue,
        whatever the version, a group that fits nowhere is not tried again before something happened that may help, and
        people are told which member blocks it; without, all is as in kube-scheduler. `clock` is what it is measured by
        how long plugins take; by default the world's.
        """
        self.world = world
        groups = groups_of(config)
        self.cluster = ClusterState(Snapshot(config.features.request_rules, groups))
        self.held = HeldPods(world=world)
        self.under_way = UnderWay()
        self.faults = Faults()
        self.background = Background(world=world, faults=self.faults)
        host = PluginHost(
            world=world,
            held=self.held,
            under_way=self.under_way,
            background=self.background,
            wake=wake,
            profiles=[profile.scheduler_name for profile in config.profiles],
        )
        clock = clock or world.now
        self.engine = make_engine(
            self.cluster.snapshot,
            config,
            registry=registry,
            seed=seed,
            now=world.now,
            host=host,
            faults=self.faults,
            observer=world.observer,
            clock=clock,
        )
        self.profiles = {name: runner.profile for name, runner in self.engine.runners.items()}
        times = self.engine.timings
        self.queue = SchedulingQueue(
            profiles={
                name: profile_hints(profile, asks=bool(config.extenders), tells_siblings=not groups_rest)
                for name, profile in self.profiles.items()
            },
            queue_sort=next(iter(self.profiles.values())).at("queueSort")[0].plugin,
            nominations=self.cluster.snapshot.nominations,
            now=world.now,
            initial_backoff=config.pod_initial_backoff_seconds,
            max_backoff=config.pod_max_backoff_seconds,
            features=config.features,
            holds_groups=groups.is_active
            and (groups_rest or groups.is_labelled or QUEUED_POD_GROUPS in config.features),
            path_of=groups.path_of,
            groups_rest=groups_rest,
            least_backoff=self._least_backoff(),
            puts_off=puts_off,
            faults=self.faults,
            observe_hint=observe_hint,
            observe_gates=lambda profile, label, seconds: times[profile].add("PreEnqueue", label, seconds),
            tell_gate=self._tell_gate,
        )
        self.statuses = StatusWriter(world=world, cluster=self.cluster)
        self.evictions = Evictions(
            world=world,
            cluster=self.cluster,
            queue=self.queue,
            held=self.held,
            bindings=self.under_way,
            statuses=self.statuses,
            wake=wake,
        )
        # Plugins are made with the host, the queue with what plugins say of events: here the ring is closed, once.
        host.open(queue=self.queue, evictions=self.evictions)
        failures = FailureHandler(
            world=world,
            cluster=self.cluster,
            queue=self.queue,
            statuses=self.statuses,
            evictions=self.evictions,
            faults=self.faults,
        )
        placer = Placer(cluster=self.cluster, engine=self.engine)
        self.bindings = Bindings(
            world=world,
            groups=groups,
            queue=self.queue,
            profiles=self.profiles,
            times=times,
            placer=placer,
            held=self.held,
            statuses=self.statuses,
            failures=failures,
            faults=self.faults,
            under_way=self.under_way,
            wake=wake,
        )
        self.group_statuses = GroupStatusWriter(world=world, groups=groups, features=config.features)
        self.half_bound = (
            HalfBoundGangs(
                world=world,
                cluster=self.cluster,
                queue=self.queue,
                statuses=self.group_statuses,
                wake=wake,
            )
            if groups.is_active and groups_rest
            else None
        )
        self.missing_groups = MissingGroups(
            world=world,
            cluster=self.cluster,
            queue=self.queue,
            statuses=self.statuses,
            tells=groups.is_active and groups_rest,
        )
        self.group_attempts = GroupAttempts(
            world=world,
            cluster=self.cluster,
            queue=self.queue,
            engine=self.engine,
            placer=placer,
            failures=failures,
            bindings=self.bindings,
            evictions=self.evictions,
            statuses=self.group_statuses,
            explains=groups_rest,
            wake=wake,
        )
        self.attempts = Attempts(
            world=world,
            cluster=self.cluster,
            queue=self.queue,
            engine=self.engine,
            placer=placer,
            failures=failures,
            bindings=self.bindings,
            groups=self.group_attempts,
            half_bound=self.half_bound,
            wake=wake,
            questions=questions,
        )
        self.pod_events = PodEvents(
            cluster=self.cluster,
            queue=self.queue,
            profiles=self.profiles,
            reject_waiting=self.held.reject,
            on_change=self.attempts.inquiries.pod_changed,
        )
        self.node_events = NodeEvents(snapshot=self.cluster.snapshot, queue=self.queue)

    @property
    def plugins(self) -> list[tuple[str, Any]]:
        """Every instance of a plugin, with its name."""
        return [(name, plugin) for profile in self.profiles.values() for name, plugin in profile.plugins.items()]

    def start_plugins(self) -> None:
        """The cluster is known: call `start` of every plugin that has one."""
        self.background.start(self.plugins)

    def _tell_gate(self, pod: PodInfo, plugin: str, reason: str) -> None:
        if self.queue.holds_groups and self.cluster.snapshot.groups.path_of(pod):
            self.missing_groups.gated(pod, plugin, reason)
        else:
            self.world.record(reporting.gated(pod, plugin, reason))

    def _least_backoff(self) -> Callable[[QueuedEntity], float] | None:
        """How long groups wait at least that did not fit, where a plugin says so (`group_backoff_seconds`)."""
        by_profile = {
            name: max((getattr(one, "group_backoff_seconds", 0.0) for one in profile.plugins.values()), default=0.0)
            for name, profile in self.profiles.items()
        }
        if not any(by_profile.values()):
            return None
        return lambda queued: by_profile[queued.profile] if isinstance(queued, QueuedGroup) else 0.0

    async def wind_up(self, seconds: float) -> None:
        """Take questions back, let bindings on the wire finish, undo the others, and all of them when time is up."""
        self.attempts.inquiries.stop()
        self.group_attempts.stop()
        await self.bindings.wind_up(seconds)

    async def drain(self) -> None:
        """Wait for evictions and statuses on their way; put a deadline round it."""
        await self.evictions.drain()
        await self.statuses.drain()
        await self.group_statuses.drain()


def groups_of(config: Config) -> PodGroups:
    """The groups that count with a configuration: Kubernetes' own by the gate, labelled ones by the plugin."""
    labelled = [one.scheduler_name for one in config.profiles if COSCHEDULING in one.plugins.names]
    return PodGroups(
        native=GENERIC_WORKLOAD in config.features,
        labelled=labelled,
        nests=COMPOSITE_POD_GROUP in config.features,
    )
