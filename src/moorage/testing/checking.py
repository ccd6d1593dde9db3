"""One call that tries a plugin's promises on hundreds of small clusters: `check_plugin(MyPlugin)`.

For every extension point of the scheduling cycle that it serves:

* both forms of Filter and Score agree, row by row, however many rows are asked for;
* its Scope is honest: as long as what it says it looks at stays the same, so does what it answers;
* asked twice, it answers the same;
* it changes nothing that it is handed.

Needs hypothesis (`pip install hypothesis`); what fails is shown on the smallest cluster found.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec
import numpy as np

from moorage.columns import PodInfo, Snapshot
from moorage.config import parse_config
from moorage.engine import make_engine
from moorage.engine.engine import default_registry
from moorage.engine.filtering import Search
from moorage.engine.runner import Runner
from moorage.framework.points import Scope
from moorage.framework.registry import Registry, plugin_name
from moorage.framework.status import Code, Status
from moorage.objects import KubeObject, Node, Pod
from moorage.testing.nodes import NodeBuilder, a_node
from moorage.testing.pods import PodBuilder, a_pod
from moorage.testing.serving import Item, built
from moorage.testing.touching import Picture, compare, picture

#: What clusters are drawn from where the caller names nothing of its own.
NODES: Final = (
    a_node().allocatable(cpu="2").zone("east"),
    a_node().allocatable(cpu="8").zone("west").labels(disk="ssd"),
    a_node().taint("dedicated", "batch").zone("east").labels(disk="hdd"),
    a_node().allocatable(cpu="1", memory="1Gi"),
)
PODS: Final = (
    a_pod(),
    a_pod().requests(cpu="500m", memory="512Mi").labels(app="web"),
    a_pod().requests(cpu="1").labels(app="db").priority(100),
    a_pod().namespace("other").requests(memory="2Gi").node_selector(disk="ssd"),
)
_MOST_NODES: Final = 8
"""More than the few for which the one-node form is always asked."""
_MOST_PODS: Final = 6


T = TypeVar("T", bound=KubeObject)


class BrokenPromise(AssertionError):
    """A plugin does not keep what it promises."""


def check_plugin(
    plugin: type,
    *,
    args: Any = None,
    nodes: Sequence[NodeBuilder] = (),
    pods: Sequence[PodBuilder] = (),
    objects: Sequence[Item] = (),
    examples: int = 100,
) -> None:
    """Try the plugin on `examples` clusters. Raises AssertionError that says which promise is broken, and where.

    Clusters are drawn from copies of `nodes` and `pods` (name those that make the plugin answer differently; by
    default a few of many kinds), beside all of `objects`. `args` are the plugin's arguments.
    """
    from hypothesis import Phase, given, settings
    from hypothesis import strategies as st

    kinds_of_nodes, kinds_of_pods = tuple(nodes) or NODES, tuple(pods) or PODS
    others = [built(item) for item in objects]
    trial = _Trial(plugin, args)

    @st.composite
    def clusters(draw: st.DrawFn) -> tuple[list[Node], list[Pod], Pod, list[int]]:
        count = draw(st.integers(1, _MOST_NODES))
        made = [draw(st.sampled_from(kinds_of_nodes)).metadata(name=f"n{number}") for number in range(count)]
        places = st.tuples(st.sampled_from(kinds_of_pods), st.integers(0, count - 1))
        placed = draw(st.lists(places, max_size=_MOST_PODS))
        running = [pod.metadata(name=f"p{place}").on(f"n{row}") for place, (pod, row) in enumerate(placed)]
        new = draw(st.sampled_from(kinds_of_pods)).metadata(name="new")
        some = sorted(draw(st.sets(st.integers(0, count - 1), min_size=1)))
        return [_copy(one.build()) for one in made], [_copy(one.build()) for one in running], _copy(new.build()), some

    phases = (Phase.generate, Phase.shrink)

    @settings(max_examples=examples, deadline=None, database=None, phases=phases, report_multiple_bugs=False)
    @given(clusters(), clusters())
    def run(one: Any, other: Any) -> None:
        made, running, new, some = one
        cluster = [*others, *made, *running]
        trial.agrees(cluster, new, some)
        trial.is_honest(others, made, running, new, other)

    run()


@dataclass
class _Asked:
    """The plugin in a cluster, with PreFilter done for a pod."""

    runner: Runner
    search: Search
    plugin: Any
    pod: PodInfo
    #: Everything as it was before it was asked.
    before: Picture

    @property
    def rejection(self) -> Status | None:
        return self.search.rejection

    def has(self, method: str) -> bool:
        """Whether the plugin has this method."""
        return callable(getattr(self.plugin, method, None))

    def looked(self, by: str) -> None:
        """It was asked by these methods: everything is as before."""
        compare(self.before, picture(self.runner.snapshot, self.pod), by)


class _Trial:
    """One plugin by itself."""

    def __init__(self, plugin: type, args: Any) -> None:
        self._registry: Registry = default_registry()
        self._registry.register(plugin)
        self._name = plugin_name(plugin)
        names = [self._name, "PrioritySort", "DefaultBinder"]
        enabled = [{"name": name} for name in dict.fromkeys(names)]
        points: dict[str, Any] = {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}}
        if hasattr(plugin, "sort_key") or hasattr(plugin, "less"):
            points["multiPoint"]["enabled"] = [one for one in enabled if one["name"] != "PrioritySort"]
        given = [] if args is None else [{"name": self._name, "args": args}]
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"plugins": points, "pluginConfig": given}],
        }
        self._config = parse_config(document, known=self._registry.known)

    # Both forms, twice, changing nothing.

    def agrees(self, cluster: Iterable[KubeObject], pod: Pod, some: list[int]) -> None:
        """Every form of every point gives one answer, and leaves everything as it is."""
        asked = self._ask(cluster, pod)
        self._sorted_and_gated(asked)
        if asked.rejection is not None:
            return
        nodes = asked.runner.snapshot.nodes
        for rows in (nodes.rows, np.array(some, dtype=np.intp)):
            self._both(asked, "filter", rows, self._filter, self._filter_rows)
            if self._prepared(asked, rows):
                self._both(asked, "score", rows, self._score, self._score_rows)

    def _both(self, asked: _Asked, point: str, rows: Any, one: Callable[..., Any], many: Callable[..., Any]) -> None:
        plain = [one(asked, row) for row in rows.tolist()]
        asked.looked(f'{point} of "{self._name}"')
        fast = many(asked, rows)
        asked.looked(f'{point}_nodes of "{self._name}"')
        self._same(asked, point, plain, fast)

    def _same(self, asked: _Asked, point: str, plain: list[Any], fast: list[Any] | None) -> None:
        if fast is not None and asked.has(point) and plain != fast:
            row = next(place for place, (a, b) in enumerate(zip(plain, fast, strict=True)) if a != b)
            shown = f"{point} says {_told(plain[row])}, {point}_nodes says {_told(fast[row])}"
            raise BrokenPromise(f'the two forms of "{self._name}" disagree for pod {asked.pod.key}: {shown}')

    def _sorted_and_gated(self, asked: _Asked) -> None:
        for method, given in (("pre_enqueue", (asked.pod,)), ("sort_key", (asked.pod, 1.0))):
            if asked.has(method):
                self._call(asked, method, *given)
                asked.looked(f'{method} of "{self._name}"')

    # Scope.

    def is_honest(
        self, others: list[KubeObject], nodes: list[Node], running: list[Pod], pod: Pod, elsewhere: Any
    ) -> None:
        """What lies outside its Scope does not move it."""
        for point, attribute in (("filter", "filter_scope"), ("score", "score_scope")):
            scope: Scope = getattr(self._registry.declarations[self._name].plugin, attribute, Scope.CLUSTER)
            if scope is Scope.CLUSTER:
                continue
            node = nodes[0]
            beside = [one for one in running if one.spec.node_name == node.metadata.name]
            far, far_pods, _, _ = elsewhere
            moved = _moved(far, far_pods, node.metadata.name, scope)
            there = [node, *moved, *(beside if scope is Scope.NODE_AND_PODS else ())]
            here = self._answer([*others, *nodes, *running], pod, point, node.metadata.name)
            away = self._answer([*others, *there], _disguised(pod), point, node.metadata.name)
            if here != away:
                said = f"{attribute} = Scope.{scope.name}, which looks at {scope.value}"
                problem = f"{point} says {_told(here)}, and {_told(away)} where only what lies outside of that differs"
                raise BrokenPromise(
                    f'"{self._name}" says {said}; but for pod {pod.key} on {node.metadata.name} {problem}'
                )

    def _answer(self, cluster: Iterable[KubeObject], pod: Pod, point: str, node_name: str) -> Any:
        asked = self._ask(cluster, pod)
        if asked.rejection is not None:
            return asked.rejection
        row = asked.runner.snapshot.nodes.row_of[node_name]
        if point == "filter":
            return self._filter(asked, row) if self._name not in asked.search.state.skipped_filters else None
        rows = np.array([row], dtype=np.intp)
        return self._score(asked, row) if self._prepared(asked, rows) else "SKIP"

    # Asking.

    def _ask(self, cluster: Iterable[KubeObject], pod: Pod) -> _Asked:
        engine = make_engine(Snapshot.of(cluster), self._config, registry=self._registry)
        (runner,) = engine.runners.values()
        plugin = runner.profile.plugins[self._name]
        info = engine.snapshot.info(pod)
        before = picture(engine.snapshot, info)
        asked = _Asked(runner, runner.filtering.begin(info), plugin, info, before)
        asked.looked(f'pre_filter or filter of "{self._name}"')
        return asked

    def _call(self, asked: _Asked, method: str, *given: Any) -> Any:
        """What a method answers, twice the same."""
        call = getattr(asked.plugin, method)
        answer, again = call(*given), call(*given)
        if not _is_alike(answer, again):
            raise BrokenPromise(f'{method} of "{self._name}" says {_told(answer)}, and then {_told(again)}')
        return answer

    def _filter(self, asked: _Asked, row: int) -> Status | None:
        if asked.has("filter"):
            node = asked.runner.snapshot.nodes[row]
            return _no(self._call(asked, "filter", asked.search.state, asked.pod, node))
        found = self._filter_rows(asked, np.array([row], dtype=np.intp))
        return None if found is None else found[0]

    def _filter_rows(self, asked: _Asked, rows: Any) -> list[Status | None] | None:
        if not asked.has("filter_nodes"):
            return None
        nodes = asked.runner.snapshot.nodes
        given = self._call(asked, "filter_nodes", asked.search.state, asked.pod, nodes, rows)
        return [_no(given.statuses[code - 1]) if code else None for code in given.codes.tolist()]

    def _prepared(self, asked: _Asked, rows: Any) -> bool:
        """Whether it scores these rows."""
        if not asked.has("score") and not asked.has("score_nodes"):
            return False
        if not asked.has("pre_score"):
            return True
        nodes = asked.runner.snapshot.nodes
        answer = self._call(asked, "pre_score", asked.search.state, asked.pod, nodes, rows)
        return answer is None or answer.code is not Code.SKIP

    def _score(self, asked: _Asked, row: int) -> Any:
        if asked.has("score"):
            return self._call(asked, "score", asked.search.state, asked.pod, asked.runner.snapshot.nodes[row])
        found = self._score_rows(asked, np.array([row], dtype=np.intp))
        return None if found is None else found[0]

    def _score_rows(self, asked: _Asked, rows: Any) -> list[int] | None:
        if not asked.has("score_nodes"):
            return None
        nodes = asked.runner.snapshot.nodes
        scores: list[int] = self._call(asked, "score_nodes", asked.search.state, asked.pod, nodes, rows).tolist()
        return scores


def _moved(nodes: list[Node], running: list[Pod], but: str, scope: Scope) -> list[KubeObject]:
    """Another cluster's other nodes and pods; where pods are out of scope, some of them on the node in question."""
    replace = msgspec.structs.replace
    others = [node for node in nodes if node.metadata.name != but]
    names = {node.metadata.name for node in others}
    if scope is Scope.NODE:
        names.add(but)
    return [
        *others,
        *(
            replace(pod, metadata=replace(pod.metadata, name=f"far-{pod.metadata.name}"))
            for pod in running
            if pod.spec.node_name in names
        ),
    ]


def _copy(item: T) -> T:
    """With nothing in it shared: what one plugin spoils is not seen by the next."""
    return msgspec.json.decode(msgspec.json.encode(item), type=type(item))


def _disguised(pod: Pod) -> Pod:
    """Another pod of the same class: what makes no class is another."""
    replace = msgspec.structs.replace
    meta = replace(pod.metadata, name="twin", namespace="elsewhere", labels={"app": "twin"}, annotations={"a": "b"})
    return replace(pod, metadata=meta)


def _no(status: Status | None) -> Status | None:
    return None if status is None or status.is_success else Status(status.code, status.reasons)


def _is_alike(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return all(_is_alike(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def _told(answer: Any) -> str:
    if answer is None:
        return "yes"
    if isinstance(answer, Status):
        return f"{answer.code.label} ({answer.message})"
    return repr(answer)
