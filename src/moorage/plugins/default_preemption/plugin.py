"""The DefaultPreemption plugin: when to preempt, how many nodes to try, what to answer."""

from collections.abc import Hashable, Iterable, Sequence
from types import MappingProxyType

from moorage.columns import PodInfo
from moorage.config.args import DefaultPreemptionArgs
from moorage.config.gates import (
    FIRST_BROKEN_BUDGET_COUNTS,
    POD_GROUP_POST_FILTER_POINT,
    PREEMPTION_MESSAGE,
    QUEUED_POD_GROUPS,
    SCHEDULER_ASYNC_PREEMPTION,
    TOPOLOGY_AWARE_WORKLOAD_SCHEDULING,
    VICTIM_START_TIME_ONCE,
    WORKLOAD_AWARE_PREEMPTION,
)
from moorage.errors import ExtenderError, PluginError
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import NodeStatuses, fit_message
from moorage.framework.events import Action, EventHint, Hint, Resource, nothing_of_pod, on
from moorage.framework.grouping import PodGroupPostFilterAnswer, RejectedGroup
from moorage.framework.handle import Handle
from moorage.framework.points import Nomination, PostFilterAnswer, Victims
from moorage.framework.status import Code, Status, error, unresolvable, unschedulable
from moorage.objects import Pod, PodDisruptionBudget
from moorage.plugins.default_preemption.budgets import Budgets, PreemptionRules
from moorage.plugins.default_preemption.candidates import Candidate, DryRuns, cheapest
from moorage.plugins.default_preemption.groups import GroupPreemption

NOT_HELPFUL = unresolvable("Preemption is not helpful for scheduling")
NO_CANDIDATE = "no candidate node for preemption"
IN_PROGRESS = unresolvable("waiting for the preemption for this pod to be finished")
GROUP_IN_PROGRESS = unresolvable("waiting for the preemption for this pod group to be finished")


class DefaultPreemption:
    """PostFilter: nominate the node where evicting pods of lower priority costs least."""

    points_by_feature = MappingProxyType({POD_GROUP_POST_FILTER_POINT: ("podGroupPostFilter",)})
    args_type = DefaultPreemptionArgs
    reads = (PodDisruptionBudget,)

    def __init__(self, args: DefaultPreemptionArgs, handle: Handle) -> None:
        self._args = args
        self._handle = handle
        self._tells_victims = PREEMPTION_MESSAGE in handle.features
        self._rules = PreemptionRules(
            first_broken_budget=FIRST_BROKEN_BUDGET_COUNTS in handle.features,
            start_times_once=VICTIM_START_TIME_ONCE in handle.features,
            units=QUEUED_POD_GROUPS in handle.features,
        )
        #: Whether evictions go on beside scheduling, so that who they are for has to wait.
        self._is_beside = SCHEDULER_ASYNC_PREEMPTION in handle.features
        self._for_groups = GroupPreemption(handle, self._rules)
        self._in_domains = TOPOLOGY_AWARE_WORKLOAD_SCHEDULING in handle.features
        self._group_at_once = WORKLOAD_AWARE_PREEMPTION in handle.features

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Keep the pod back while evictions for it, or for its group, are under way."""
        handle = self._handle
        if not self._is_beside or not handle.has_host or not handle.host.is_preempting(pod):
            return None
        return GROUP_IN_PROGRESS if handle.snapshot.groups.path_of(pod) else IN_PROGRESS

    def post_filter(self, state: CycleState, pod: PodInfo, statuses: NodeStatuses) -> PostFilterAnswer:
        """Nominate a node and name the victims; or say why preemption does not help."""
        objection = self._objection(pod, statuses)
        if objection:
            return PostFilterAnswer(unschedulable(f"preemption: {objection}"))
        candidates, refusals = self._dry_runs(state, pod, statuses)
        if not candidates:
            problems = [reason for status in refusals.distinct(Code.ERROR) for reason in status.reasons]
            if problems:
                text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
                return PostFilterAnswer(error(f"preemption: {text}"))
            text = fit_message(len(statuses.rows), refusals.histogram())
            return PostFilterAnswer(unschedulable(f"preemption: {text}"), Nomination(""))
        try:
            candidates = self._allowed(candidates)
        except ExtenderError as problem:
            return PostFilterAnswer(error(f"preemption: {problem}"))
        if not candidates:
            return PostFilterAnswer(unschedulable(f"preemption: {NO_CANDIDATE}"))
        best = self._handle.random.choice(cheapest(candidates, self._handle.now()))
        return PostFilterAnswer(self._found(best), Nomination(best.node_name, best.victims))

    def _found(self, best: Candidate) -> Status | None:
        if not self._tells_victims:
            return None
        text = f"found a potential placement for pod on node {best.node_name}, preempting {len(best.victims)} victims"
        return Status(Code.SUCCESS, (f"preemption: {text}",))

    def _allowed(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The candidates that extenders agree to, with the victims they choose."""
        if not self._handle.has_extenders:
            return list(candidates)
        victims = {one.node_name: Victims(one.victims, one.violations) for one in candidates}
        return [Candidate(name, one.pods, one.violations) for name, one in self._handle.ask_extenders(victims).items()]

    def pod_group_post_filter(self, rejected: RejectedGroup) -> PodGroupPostFilterAnswer:
        """Make room for a group as a whole."""
        return self._for_groups.of(rejected)

    def post_filter_until(self, pod: PodInfo) -> Hashable | None:
        """Where nobody is less important there is no room to be made, whatever else happens; else until a pod moves."""
        snapshot = self._handle.snapshot
        if pod.spec.preemption_policy == "Never" or not snapshot.nodes.has_below(pod.priority):
            return "no room", pod.spec.preemption_policy
        moved = snapshot.nodes.pod_rows.position, snapshot.nodes.node_changes.position
        return pod.priority, moved, snapshot.objects.version(PodDisruptionBudget)

    def _objection(self, pod: PodInfo, statuses: NodeStatuses) -> str:
        if of_group := self._objection_of_group(pod):
            return of_group
        if pod.spec.preemption_policy == "Never":
            return "not eligible due to preemptionPolicy=Never."
        snapshot = self._handle.snapshot
        # A promise made a moment ago may not have reached the API server, and so the pod's status, yet.
        node = snapshot.nodes.get(snapshot.nominations.node_of(pod) or pod.pod.status.nominated_node_name)
        if node is None:
            return ""
        status = statuses.get(node.row)
        if status is not None and status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return ""
        if any(other.priority < pod.priority and self._is_leaving(other) for other in node.pods.values()):
            return "not eligible due to a terminating pod on the nominated node."
        return ""

    def _objection_of_group(self, pod: PodInfo) -> str:
        """Before 1.37 members make room for themselves, where nothing else is said of their group."""
        groups = self._handle.snapshot.groups
        if not groups.is_active or pod.spec.scheduling_group is None:
            return ""
        if self._in_domains:
            group = groups.of(pod)
            if group is None:
                return "pod group for pod not found"
            if group.topology_required:
                return "not eligible due to placement-based pod group scheduling limitation"
        return "not eligible due to workload aware preemption enabled" if self._group_at_once else ""

    def _is_leaving(self, other: PodInfo) -> bool:
        """Whether somebody's preemption makes the pod leave: room that is not free yet, but will be."""
        if _leaves_by_preemption(other.pod):
            return True
        return self._handle.has_host and not other.pod.is_terminating and self._handle.host.is_leaving(other)

    def _dry_runs(
        self, state: CycleState, pod: PodInfo, statuses: NodeStatuses
    ) -> tuple[list[Candidate], NodeStatuses]:
        """Try nodes from a random one on, until there are candidates enough."""
        rows = statuses.with_code(Code.UNSCHEDULABLE).tolist()
        refusals = NodeStatuses(statuses.rows, absent=NOT_HELPFUL)
        budgets = Budgets(self._handle.snapshot.objects.each(PodDisruptionBudget), self._rules)
        dry_runs = DryRuns(self._handle.filters, state, pod, budgets, self._rules, self._handle.snapshot)
        wanted = self._wanted(len(rows))
        candidates: list[Candidate] = []
        harmless = False
        for row in _rotated(rows, self._handle.random.randrange(len(rows)) if rows else 0):
            try:
                found = dry_runs.on(self._handle.snapshot.nodes[row])
            except PluginError as problem:
                # A filter that breaks here says that this node does not help; it is told where none does.
                found = error(str(problem))
            if isinstance(found, Status):
                refusals.assign(row, found)
                continue
            candidates.append(found)
            harmless = harmless or not found.violations
            if harmless and len(candidates) >= wanted:
                break
        return candidates, refusals

    def _wanted(self, nodes: int) -> int:
        share = nodes * self._args.min_candidate_nodes_percentage // 100
        return min(nodes, max(share, self._args.min_candidate_nodes_absolute))

    def events_to_register(self) -> Sequence[EventHint]:
        """A pod gone never helps by itself: it lets the gate above be looked at again."""
        return (on(Resource.POD, Action.DELETE, self._after_pod_deleted, reads=nothing_of_pod),)

    def _after_pod_deleted(self, _pod: PodInfo, _old: Pod | None, _new: Pod | None) -> Hint:
        return Hint.SKIP


def _rotated(rows: list[int], start: int) -> Iterable[int]:
    return (*rows[start:], *rows[:start])


def _leaves_by_preemption(pod: Pod) -> bool:
    return pod.is_terminating and any(
        one.type == "DisruptionTarget" and one.status == "True" and one.reason == "PreemptionByScheduler"
        for one in pod.status.conditions
    )
