"""For each extension point a method that does something small and whole, and the test that goes with it.

All of them read one label: on a node it says "always" or "never", on a pod "only", "hold" or nothing. `$plugin` and
`$label` stand for the names of the package.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Piece:
    """What one extension point brings into the plugin and into its tests."""

    #: The names it needs of moorage.framework.
    imports: tuple[str, ...]
    method: str
    test: str
    #: The names its test needs of moorage.framework.
    test_imports: tuple[str, ...] = ()
    #: A line of `__init__`.
    field: str = ""


PIECES: Final[dict[str, Piece]] = {
    "preEnqueue": Piece(
        ("PodInfo", "Status", "unschedulable"),
        '''\
    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """A pod labelled "hold" stays out of the queue until its label changes."""
        return unschedulable("held by its label") if pod.labels.get(self.label) == "hold" else None
''',
        """\
def test_a_pod_that_is_held_stays_out_of_the_queue() -> None:
    plugin = $plugin({}, None)
    held = plugin.pre_enqueue(a_pod("app").labels({LABEL: "hold"}).info())
    assert held is not None
    assert held.reasons == ("held by its label",)
    assert plugin.pre_enqueue(a_pod("app").info()) is None
""",
    ),
    "queueSort": Piece(
        ("PodInfo",),
        '''\
    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[int, bool, float]:
        """By priority, as everywhere; among equals those labelled "only" first, then who has waited longest."""
        return (-pod.priority, pod.labels.get(self.label) != "only", timestamp)
''',
        """\
def test_the_queue_is_ordered_by_priority_label_and_time() -> None:
    plugin = $plugin({}, None)
    high = plugin.sort_key(a_pod("high").priority(5).info(), 3.0)
    picky = plugin.sort_key(a_pod("picky").labels({LABEL: "only"}).info(), 2.0)
    early = plugin.sort_key(a_pod("early").info(), 1.0)
    assert high < picky < early
""",
    ),
    "preFilter": Piece(
        ("CycleState", "NodeNames", "NodeTable", "PodInfo"),
        '''\
    def pre_filter(self, _state: CycleState, pod: PodInfo, nodes: NodeTable) -> NodeNames | None:
        """A pod labelled "only" goes to nodes labelled "always" and nowhere else."""
        if pod.labels.get(self.label) != "only":
            return None
        return NodeNames(frozenset(node.name for node in nodes if node.labels.get(self.label) == "always"))
''',
        """\
def test_a_picky_pod_sees_only_the_nodes_it_wants() -> None:
    decided = CLUSTER.decide(a_pod("app").labels({LABEL: "only"}), plugins=[$plugin])
    assert decided.feasible == ("always",)
""",
    ),
    "filter": Piece(
        ("CycleState", "NodeInfo", "PodInfo", "Status", "unresolvable"),
        '''\
    def filter(self, _state: CycleState, _pod: PodInfo, node: NodeInfo) -> Status | None:
        """A node labelled "never" takes no pod; evicting others from it would not help (unresolvable)."""
        return unresolvable("node(s) said never") if node.labels.get(self.label) == "never" else None
''',
        """\
def test_a_node_that_says_never_is_refused() -> None:
    decided = CLUSTER.decide(a_pod("app"), plugins=[$plugin])
    decided.assert_refused("never", by="$plugin", because="said never")
    assert "plain" in decided.feasible
""",
    ),
    "postFilter": Piece(
        ("CycleState", "PodInfo", "PostFilterAnswer", "unschedulable"),
        '''\
    def post_filter(self, _state: CycleState, pod: PodInfo, _statuses: object) -> PostFilterAnswer:
        """Called when no node fits: here, only words for the pod's event; see preemption for what else is possible."""
        return PostFilterAnswer(unschedulable(f"no node is left for {pod.name}; label one {self.label}=always"))
''',
        """\
def test_a_pod_that_fits_nowhere_is_told_what_would_help() -> None:
    answer = $plugin({}, None).post_filter(CycleState(), a_pod("app").info(), None)
    assert answer.status is not None
    assert answer.status.reasons == (f"no node is left for app; label one {LABEL}=always",)
    assert answer.nomination is None
""",
        test_imports=("CycleState",),
    ),
    "preScore": Piece(
        ("SKIP", "CycleState", "NodeTable", "PodInfo", "Rows", "Status"),
        '''\
    def pre_score(self, _state: CycleState, _pod: PodInfo, nodes: NodeTable, rows: Rows) -> Status | None:
        """Where no node has the label, all are alike: leave out Score."""
        return None if any(self.label in nodes[row].labels for row in rows.tolist()) else SKIP
''',
        """\
def test_nothing_is_scored_where_no_node_has_the_label() -> None:
    decided = Cluster(a_node("plain")).decide(a_pod("app"), plugins=[$plugin])
    assert "$plugin" not in decided.decision.scores["plain"]
""",
    ),
    "score": Piece(
        ("CycleState", "NodeInfo", "PodInfo"),
        '''\
    def score(self, _state: CycleState, _pod: PodInfo, node: NodeInfo) -> int:
        """A node labelled "always" is as good as can be (100), any other as bad (0)."""
        return 100 if node.labels.get(self.label) == "always" else 0
''',
        """\
def test_a_node_that_says_always_is_preferred() -> None:
    decided = CLUSTER.decide(a_pod("app"), plugins=[$plugin])
    assert decided.score("always", "$plugin") == 100
    assert decided.score("plain", "$plugin") == 0
    decided.assert_prefers("always", over="plain")
""",
    ),
    "normalizeScore": Piece(
        ("CycleState", "PodInfo", "Rows", "Scores"),
        '''\
    def normalize_scores(self, _state: CycleState, _pod: PodInfo, scores: Scores, _rows: Rows) -> Scores:
        """Bring the scores into 0..100: the best node gets 100."""
        highest = int(scores.max(initial=0))
        return scores * 100 // highest if highest else scores
''',
        """\
def test_scores_are_brought_into_range() -> None:
    scores = np.array([0, 7, 28])
    brought = $plugin({}, None).normalize_scores(CycleState(), a_pod("app").info(), scores, np.arange(3))
    assert brought.tolist() == [0, 25, 100]
""",
        test_imports=("CycleState",),
    ),
    "reserve": Piece(
        ("CycleState", "PodInfo"),
        '''\
    def reserve(self, _state: CycleState, pod: PodInfo, node_name: str) -> None:
        """The node is chosen: remember what the pod will use, until it is bound or `unreserve` takes it back."""
        self.placed[pod.uid] = node_name

    def unreserve(self, _state: CycleState, pod: PodInfo, _node_name: str) -> None:
        """Something later failed. Also called where `reserve` was not reached, so it must not mind."""
        self.placed.pop(pod.uid, None)
''',
        """\
def test_what_is_reserved_is_let_go_again() -> None:
    plugin = $plugin({}, None)
    pod = a_pod("app").info()
    plugin.reserve(CycleState(), pod, "plain")
    assert plugin.placed == {pod.uid: "plain"}
    plugin.unreserve(CycleState(), pod, "plain")
    plugin.unreserve(CycleState(), pod, "plain")
    assert plugin.placed == {}
""",
        test_imports=("CycleState",),
        field="        self.placed: dict[str, str] = {}\n",
    ),
    "permit": Piece(
        ("CycleState", "PermitAnswer", "PodInfo", "wait"),
        '''\
    def permit(self, _state: CycleState, pod: PodInfo, _node_name: str) -> PermitAnswer | None:
        """A pod labelled "wait" is held, its place kept, for five seconds at most; then it is refused."""
        if pod.labels.get(self.label) != "wait":
            return None
        return PermitAnswer(wait("its label says wait"), timeout_seconds=5)
''',
        """\
def test_a_pod_that_waits_is_held_for_five_seconds() -> None:
    plugin = $plugin({}, None)
    answer = plugin.permit(CycleState(), a_pod("app").labels({LABEL: "wait"}).info(), "plain")
    assert answer is not None
    assert answer.timeout_seconds == 5
    assert plugin.permit(CycleState(), a_pod("app").info(), "plain") is None
""",
        test_imports=("CycleState",),
    ),
    "preBind": Piece(
        ("CycleState", "PodInfo"),
        '''\
    async def pre_bind(self, _state: CycleState, pod: PodInfo, node_name: str) -> None:
        """The place for what must be done before the pod is bound, such as asking a service. May take its time."""
        logger.info("%s is about to be bound to %s", pod.key, node_name)
''',
        """\
def test_what_must_be_done_before_binding_is_done(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    asyncio.run($plugin({}, None).pre_bind(CycleState(), a_pod("app").info(), "plain"))
    assert "default/app is about to be bound to plain" in caplog.text
""",
        test_imports=("CycleState",),
    ),
    "bind": Piece(
        ("SKIP", "CycleState", "PodInfo", "Status"),
        '''\
    async def bind(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> Status | None:
        """Bind the pod in a way of its own and answer None; SKIP leaves it to the next Bind plugin."""
        return SKIP
''',
        """\
def test_binding_is_left_to_the_next() -> None:
    answer = asyncio.run($plugin({}, None).bind(CycleState(), a_pod("app").info(), "plain"))
    assert answer is SKIP
""",
        test_imports=("SKIP", "CycleState"),
    ),
    "postBind": Piece(
        ("CycleState", "PodInfo"),
        '''\
    def post_bind(self, _state: CycleState, pod: PodInfo, node_name: str) -> None:
        """The pod is bound, nothing can fail it any more: clean up, count, tell."""
        self.bound[node_name] = self.bound.get(node_name, 0) + 1
        logger.debug("%s was bound to %s", pod.key, node_name)
''',
        """\
def test_bound_pods_are_counted() -> None:
    plugin = $plugin({}, None)
    plugin.post_bind(CycleState(), a_pod("app").info(), "plain")
    assert plugin.bound == {"plain": 1}
""",
        test_imports=("CycleState",),
        field="        self.bound: dict[str, int] = {}\n",
    ),
}

#: Points at which a plugin may reject a pod: such a plugin says which events could change its mind.
REJECTING: Final = frozenset(("preEnqueue", "preFilter", "filter", "reserve", "permit"))

EVENTS: Final = Piece(
    ("Action", "EventHint", "Resource", "on"),
    '''\
    def events_to_register(self) -> list[EventHint]:
        """What could make a pod schedulable that this plugin refused: another node, or another label."""
        return [
            on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
            on(Resource.UNSCHEDULABLE_POD, Action.UPDATE_POD_LABEL),
        ]
''',
    """\
def test_new_labels_wake_the_pods_it_refused() -> None:
    assert len($plugin({}, None).events_to_register()) == 2
""",
)
