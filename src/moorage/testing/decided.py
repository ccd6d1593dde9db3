"""What was decided, with questions and assertions that explain themselves."""

from collections.abc import Collection
from typing import NoReturn

from moorage.engine import Decision
from moorage.engine.decision import Preemption
from moorage.framework.status import Status, unresolvable
from moorage.testing.tables import Table, html_table

_LEFT_OUT = unresolvable("left out at PreFilter")


class Decided:
    """A decision to be asserted on. Every failed assertion shows the whole decision; so does `str(decided)`."""

    def __init__(self, decision: Decision, nodes: Collection[str]) -> None:
        #: The engine's own answer, with everything in it.
        self.decision = decision
        self._nodes = sorted(nodes)

    def __repr__(self) -> str:
        return f"Decided({self.decision.pod} -> {self.chosen or 'nowhere'})"

    def __str__(self) -> str:
        head = f"{self.decision.pod} -> {self.chosen or 'nowhere'}"
        if self.message:
            head += f": {self.message}"
        lines = [head, *(f"  {name}: {self._fate(name)}" for name in self._nodes)]
        if self.preemption is not None:
            lines.append(f"  preemption: {_preemption_text(self.preemption)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """In a notebook: a table of nodes, the best first, with each score or the reason against."""
        return html_table(self.table())

    def table(self) -> Table:
        """The nodes, the best first, each with its total and scores or with who refused it and why."""
        known = [name for name in self.feasible if name in self._nodes]
        fits = sorted(known, key=lambda name: (-self.decision.totals[name], name))
        rows = [(name, str(self.decision.totals[name]), self._score_text(name)) for name in fits]
        rows += [(name, "", self._fate(name)) for name in self._nodes if name not in self.feasible]
        title = f"{self.decision.pod} -> {self.chosen or 'nowhere'}"
        if self.message:
            title += f": {self.message}"
        if self.preemption is not None:
            title += f" (preemption: {_preemption_text(self.preemption)})"
        return Table(title, ("node", "total", "scores, or why not"), rows)

    # -------------------------------------------------------------------------------------------------------- questions

    @property
    def chosen(self) -> str:
        """The node taken, the first by name where several are best; "" where none fits."""
        return self.decision.chosen

    @property
    def best(self) -> tuple[str, ...]:
        """All nodes with the highest total."""
        return self.decision.best

    @property
    def feasible(self) -> tuple[str, ...]:
        """The nodes that passed every filter, sorted."""
        return self.decision.feasible

    @property
    def message(self) -> str:
        """Why no node fits, as the FailedScheduling event says it."""
        return self.decision.message

    @property
    def preemption(self) -> Preemption | None:
        """What preemption would do where no node fits."""
        return self.decision.preemption

    def reasons(self, node: str) -> tuple[str, ...]:
        """Why the node was refused; () where it fits."""
        refusal = self._refusal(node)
        return refusal.reasons if refusal is not None else ()

    def refused_by(self, node: str) -> str:
        """The plugin that refused the node, "" where it fits."""
        refusal = self._refusal(node)
        return refusal.plugin if refusal is not None else ""

    def score(self, node: str, plugin: str) -> int:
        """The plugin's score of the node, normalised and weighted. Fails where the plugin gave none."""
        given = self._scores(node)
        if plugin not in given:
            self._fail(f"{plugin} gave {node} no score (it is not enabled at score, or skipped itself)")
        return given[plugin]

    def total(self, node: str) -> int:
        """The sum of all scores of the node. Fails where it was refused."""
        return sum(self._scores(node).values())

    # ------------------------------------------------------------------------------------------------------- assertions

    def assert_chosen(self, node: str) -> None:
        """The pod goes to this node, and no other is as good."""
        self._known(node)
        if self.best != (node,):
            tie = f"{', '.join(self.best)} tie" if len(self.best) > 1 else f"it goes to {self.chosen or 'no node'}"
            self._fail(f"expected {node} to be chosen, but {tie}")

    def assert_refused(self, node: str, *, by: str = "", because: str = "") -> None:
        """The node was refused, by this plugin, for a reason that contains this text."""
        refusal = self._refusal(node)
        if refusal is None:
            self._fail(f"expected {node} to be refused, but it fits")
        if by and refusal.plugin != by:
            self._fail(f"expected {by} to refuse {node}, but {refusal.plugin or 'PreFilter'} did")
        if not any(because in reason for reason in refusal.reasons or ("",)):
            self._fail(f'expected a reason with "{because}" against {node}, but got: {refusal.message}')

    def assert_unschedulable(self, because: str = "") -> None:
        """No node fits, and the message contains this text."""
        if self.chosen:
            self._fail(f"expected no node to fit, but {', '.join(self.feasible)} do")
        if because not in self.message:
            self._fail(f'expected a message with "{because}"')

    def assert_prefers(self, node: str, *, over: str) -> None:
        """Both nodes fit, and the first has the higher total."""
        if self.total(node) <= self.total(over):
            self._fail(f"expected {node} to be preferred over {over}")

    # ---------------------------------------------------------------------------------------------------------- details

    def _refusal(self, node: str) -> Status | None:
        self._known(node)
        if node in self.feasible:
            return None
        return self.decision.rejected.get(node) or self.decision.pre_filter or _LEFT_OUT

    def _scores(self, node: str) -> dict[str, int]:
        if self._refusal(node) is not None:
            self._fail(f"{node} has no score: it was refused")
        return dict(self.decision.scores[node])

    def _known(self, node: str) -> None:
        if node not in self._nodes:
            self._fail(f"there is no node {node}")

    def _fate(self, node: str) -> str:
        if self.decision.is_error:
            return "not decided: see above what broke"
        refusal = self._refusal(node)
        if refusal is not None:
            by = f"refused by {refusal.plugin}" if refusal.plugin else "refused"
            return f"{by}: {refusal.message}"
        return f"total {self.decision.totals[node]} ({self._score_text(node)})"

    def _score_text(self, node: str) -> str:
        return ", ".join(f"{plugin} {score}" for plugin, score in sorted(self.decision.scores[node].items()))

    def _fail(self, problem: str) -> NoReturn:
        raise AssertionError(f"{problem}\n{self}")


def _preemption_text(preemption: Preemption) -> str:
    if not preemption.node:
        return preemption.message.removeprefix("preemption: ") or "does not help"
    return f"evict {', '.join(preemption.victims)} from {preemption.node}"
