"""The engine: profiles over a snapshot. It decides; hosts act."""

import time
from collections.abc import Callable, Mapping
from functools import cache
from random import Random

from moorage.columns import PodInfo, Snapshot
from moorage.config import DEFAULT_FEATURES, Config, Features, default_config
from moorage.config.gates import QUEUED_POD_GROUPS
from moorage.engine.asking import Answers, Extender, Question
from moorage.engine.chance import CycleRandom
from moorage.engine.cycle import Cycle
from moorage.engine.decision import Decision
from moorage.engine.explaining import explain
from moorage.engine.groups import (
    Counting,
    GroupAnswers,
    GroupCycle,
    GroupOutcome,
    GroupQuestion,
    GroupWork,
    PodByPodCycle,
)
from moorage.engine.outcome import Failure, Placement
from moorage.engine.profiles import build_profile
from moorage.engine.runner import Runner
from moorage.engine.timing import PointObserver, Timing
from moorage.errors import InputError
from moorage.framework.declaration import Declaration, declared
from moorage.framework.faults import Faults
from moorage.framework.handle import Handle, Host
from moorage.framework.registry import Registry
from moorage.plugins import DEFAULT_PLUGINS, OWN_PLUGINS


class Engine:
    """Schedules pods over one snapshot, which others keep current between cycles."""

    def __init__(
        self,
        *,
        snapshot: Snapshot,
        runners: Mapping[str, Runner],
        random: Random,
        features: Features = DEFAULT_FEATURES,
    ) -> None:
        self.snapshot = snapshot
        self.runners = runners
        self._random = random
        self._features = features
        self._next_seed = random.getrandbits(64)
        self._next_start = 0

    @property
    def extenders(self) -> tuple[Extender, ...]:
        """All that a decision may have to ask, whatever its profile."""
        return next(iter(self.runners.values())).extenders

    @property
    def timings(self) -> Mapping[str, Timing]:
        """How long points take, by profile, where that is measured."""
        return {name: runner.timing for name, runner in self.runners.items() if runner.timing is not None}

    def runner_of(self, pod: PodInfo) -> Runner:
        """The profile the pod asks for. Raises InputError if there is none."""
        runner = self.runners.get(pod.spec.scheduler_name)
        if runner is None:
            known = ", ".join(self.runners)
            raise InputError(f'pod {pod.key} names scheduler "{pod.spec.scheduler_name}"; profiles: {known}')
        return runner

    # ------------------------------------------------------------------------------ asked for, changing nothing

    def decide(self, pod: PodInfo, answers: Answers | None = None) -> Question | Placement | Failure:
        """Where the pod goes, or why nowhere; or what has to be asked first, if `answers` may ask.

        Changes nothing, and is the same for the same answers on the same cluster. Without answers it is what the next
        attempt would come to if no extender were asked.
        """
        return Cycle(self.runner_of(pod), pod, answers or self._upcoming(may_ask=False)).run()

    def explain(self, pod: PodInfo, answers: Answers | None = None) -> Decision:
        """The same decision with everything that led to it. Extenders that have not answered are left out."""
        return explain(self.runner_of(pod), pod, answers or self._upcoming(may_ask=False))

    # -------------------------------------------------------------------------------------------------- for an attempt

    def begin(self) -> Answers:
        """What belongs to an attempt that begins now: a seed of its own, and where its search for nodes starts.

        Decide with it, and as long as that ends in a Question again with the answer added; then `commit`.
        """
        answers = self._upcoming(may_ask=True)
        self._next_seed = self._random.getrandbits(64)
        return answers

    def commit(self, outcome: Placement | Failure) -> None:
        """This is what an attempt came to: the next search starts where its search stopped."""
        if outcome.next_start is not None:
            self._next_start = outcome.next_start

    def schedule(self, pod: PodInfo) -> Placement | Failure:
        """A whole attempt in one go, extenders left out."""
        answers = self._upcoming(may_ask=False)
        self._next_seed = self._random.getrandbits(64)
        outcome = Cycle(self.runner_of(pod), pod, answers).run()
        assert isinstance(outcome, Placement | Failure), "nothing may be asked"
        self.commit(outcome)
        return outcome

    def _upcoming(self, *, may_ask: bool) -> Answers:
        return Answers(self._next_seed, self._next_start, may_ask=may_ask)

    # ------------------------------------------------------------------------------------------------------- groups

    def begin_group(self, *, may_ask: bool = True) -> GroupAnswers:
        """What belongs to an attempt at a group that begins now; see `begin`."""
        answers = GroupAnswers(self._next_seed, self._next_start, may_ask=may_ask)
        self._next_seed = self._random.getrandbits(64)
        return answers

    def decide_group(
        self, work: GroupWork, answers: GroupAnswers, counting: Counting | None = None
    ) -> GroupQuestion | GroupOutcome:
        """Where all members go, or why none; or what has to be asked first.

        Changes nothing; but with `counting` members of a group that is whole may be left counted and reserved where
        they go: `outcome.assumed` says which are.
        """
        if self._is_pod_by_pod(work):
            return PodByPodCycle(self.runners, work, answers, self._features).run()
        return GroupCycle(self.runners, work, answers, self._features, counting).run()

    def break_group(self, work: GroupWork, message: str) -> GroupOutcome:
        """The attempt at a group breaks with this."""
        cycle = PodByPodCycle if self._is_pod_by_pod(work) else GroupCycle
        return cycle(self.runners, work, GroupAnswers(), self._features).broken(message)

    def commit_group(self, outcome: GroupOutcome) -> None:
        """See `commit`."""
        if outcome.next_start is not None:
            self._next_start = outcome.next_start

    def _is_pod_by_pod(self, work: GroupWork) -> bool:
        return QUEUED_POD_GROUPS not in self._features and work.root.is_native

    def reach(self, pod: PodInfo, node_name: str) -> Placement:
        """A placement on a node that was chosen without a cycle, to be placed."""
        cycle = Cycle(self.runner_of(pod), pod, self._upcoming(may_ask=False))
        cycle.begin()
        return Placement(pod, node_name, cycle.reach(node_name), 1)


def make_engine(
    snapshot: Snapshot,
    config: Config | None = None,
    *,
    registry: Registry | None = None,
    seed: int = 0,
    now: Callable[[], float] = time.time,
    host: Host | None = None,
    features: Features = DEFAULT_FEATURES,
    faults: Faults | None = None,
    observer: PointObserver | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Engine:
    """An engine for a configuration; where none is given, the default one of these features.

    `faults` is told of what plugins do wrong where no pod's attempt fails of it.
    """
    registry = registry or default_registry()
    config = config or default_config(known=registry.known, features=features)
    random = Random(seed)
    extenders = [Extender.of(one, place) for place, one in enumerate(config.extenders)]
    runners = {}
    for profile in config.profiles:
        chance = CycleRandom(random.getrandbits(64))
        handle = Handle(snapshot, now=now, random=chance, host=host, features=config.features)
        built = build_profile(profile, registry, handle, percentage=config.percentage_of_nodes_to_score)
        name = profile.scheduler_name
        timing = None if observer is None else Timing(profile=name, clock=clock, observer=observer)
        runner = Runner(
            profile=built, snapshot=snapshot, chance=chance, extenders=extenders, faults=faults, timing=timing
        )
        # Plugins are made with the handle, the filters of plugins: here that ring is closed, once.
        handle.open(filters=runner.filtering)
        runners[profile.scheduler_name] = runner
    return Engine(snapshot=snapshot, runners=runners, random=random, features=config.features)


def default_registry() -> Registry:
    """The built-in plugins and those that installed packages offer."""
    registry = Registry()
    for declaration in _built_in():
        registry.add(declaration)
    registry.register_entry_points()
    return registry


@cache
def _built_in() -> tuple[Declaration, ...]:
    """What the built-in plugins say of themselves: read once, for it takes longer than a decision."""
    return tuple(declared(plugin) for plugin in (*DEFAULT_PLUGINS, *OWN_PLUGINS))
