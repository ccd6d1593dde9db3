"""PreBind, Bind and PostBind of one profile: which plugins a pod meets there, what they answer, how long they take."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from moorage.attempt.underway import Binding
from moorage.attempt.world import World
from moorage.engine.timing import Timing
from moorage.errors import PluginError
from moorage.framework.answers import CONTRACTS, broken, verdict
from moorage.framework.faults import Faults
from moorage.framework.points import PreBindPreFlight, worker_methods
from moorage.framework.profile import Profile
from moorage.framework.status import SKIP, Code, Status, error
from moorage.framework.writes import BoundElsewhere, NotDone

logger = logging.getLogger(__name__)

_SUCCESS, _ERROR = Code.SUCCESS.label, Code.ERROR.label


class Step(NamedTuple):
    """A plugin at one of the points."""

    name: str
    plugin: Any
    method: Callable[..., Any]
    #: Whether the plugin wants it to run in a worker thread.
    in_thread: bool


class BindingPoints:
    """The plugins of a profile that a pod meets on its way from decision to node."""

    def __init__(self, *, profile: Profile, world: World, times: Timing, faults: Faults) -> None:
        self._world = world
        self._times = times
        self._faults = faults
        self._pre_binds = _steps(profile, "preBind", "PreBind")
        #: Those of them that say beforehand if they have work to do.
        self._announcing = frozenset(one.name for one in self._pre_binds if isinstance(one.plugin, PreBindPreFlight))
        self._binds = _steps(profile, "bind", "Bind")
        self._post_binds = _steps(profile, "postBind", "PostBind")

    def with_work(self, binding: Binding) -> tuple[Sequence[Step], bool]:
        """The PreBind plugins but for those that say they have nothing to do; and whether some say that they have."""
        if not self._announcing:
            return self._pre_binds, False
        placement = binding.placed.placement
        working = []
        takes_a_while = False
        for one in self._pre_binds:
            if one.name in self._announcing:
                point = "PreBindPreFlight"
                try:
                    answer = one.plugin.pre_bind_pre_flight(placement.state, placement.pod, placement.node_name)
                except BaseException as problem:
                    raise broken(one.name, point, problem) from problem
                if verdict(one.name, one.plugin, point, answer) is not None:
                    continue
                takes_a_while = True
            working.append(one)
        return working, takes_a_while

    async def pre_bind(self, steps: Sequence[Step], binding: Binding) -> Status | None:
        """Run these PreBind plugins until one refuses the pod."""
        if not steps:
            self._times.add("PreBind", _SUCCESS, 0.0)
            return None
        started, label = self._times.clock(), _ERROR
        try:
            for one in steps:
                refusal = await self._answer(one, "PreBind", binding)
                if refusal is not None:
                    label = refusal.code.label
                    return refusal
            label = _SUCCESS
            return None
        finally:
            self._times.add("PreBind", label, self._times.clock() - started)

    async def bind(self, binding: Binding) -> Status | None:
        """Have the pod bound: by the first extender that binds pods like it, else by a plugin."""
        started, label = self._times.clock(), _ERROR
        try:
            status = await self._bind_by_extender(binding) if binding.placed.runner.extenders else SKIP
            if status is SKIP:
                status = await self._bind_by_plugin(binding)
            label = _SUCCESS if status is None else status.code.label
            return status
        finally:
            self._times.add("Bind", label, self._times.clock() - started)

    async def _bind_by_extender(self, binding: Binding) -> Status | None:
        """SKIP where none of them binds pods like this one, or only some that failed and may be ignored."""
        pod = binding.pod
        for extender in binding.placed.runner.extenders:
            if extender.binds and extender.is_interested(pod):
                answer = await self._world.bind_through(extender, pod, binding.node_name)
                if isinstance(answer, BoundElsewhere):
                    binding.taken_to = answer.node_name
                if not isinstance(answer, NotDone):
                    return None
                if binding.taken_to or not extender.ignorable:
                    return error(answer.message)
                logger.warning("pod %s was not bound by an extender that may be ignored: %s", pod.key, answer.message)
        return SKIP

    async def _bind_by_plugin(self, binding: Binding) -> Status | None:
        """The answer of the first plugin that does not skip the pod."""
        for one in self._binds:
            status = await self._answer(one, "Bind", binding)
            if status is None or status.code is not Code.SKIP:
                return status
        return error("every Bind plugin skipped the pod")

    async def post_bind(self, binding: Binding) -> None:
        """Nothing they do can fail the pod any more."""
        if not self._post_binds:
            return
        started = self._times.clock()
        for one in self._post_binds:
            try:
                await self._answer(one, "PostBind", binding)
            except PluginError as problem:
                self._faults.see(problem, f"pod {binding.pod.key} is bound all the same")
        self._times.add("PostBind", _SUCCESS, self._times.clock() - started)

    async def _answer(self, one: Step, point: str, binding: Binding) -> Status | None:
        """A plugin's answer at a point that may be asynchronous: see `framework.answers.verdict`."""
        placement = binding.placed.placement
        given = placement.state, placement.pod, placement.node_name
        started, label = self._times.clock() if binding.is_measured else 0.0, _ERROR
        try:
            try:
                answer = self._world.run_in_thread(partial(one.method, *given)) if one.in_thread else one.method(*given)
            except BaseException as problem:
                raise broken(one.name, point, problem) from problem
            if answer is not None and hasattr(answer, "__await__"):
                try:
                    answer = await self._world.run(answer)
                except self._world.cancellation:
                    raise
                except BaseException as problem:
                    raise broken(one.name, point, problem) from problem
            status = None if answer is None else verdict(one.name, one.plugin, point, answer)
            label = _SUCCESS if status is None else status.code.label
            return status
        finally:
            if binding.is_measured:
                self._times.add_call(point, label, one.name, self._times.clock() - started)


def _steps(profile: Profile, point: str, contract: str) -> list[Step]:
    method = CONTRACTS[contract].method
    return [
        Step(one.name, one.plugin, getattr(one.plugin, method), method in worker_methods(one.plugin))
        for one in profile.at(point)
    ]
