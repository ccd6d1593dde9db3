"""Decisions and placements as tables."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from moorage.engine import Decision
from moorage.objects import Pod


def chapter(console: Console, number: int, title: str, text: str) -> None:
    """Begin a chapter."""
    console.print()
    console.rule(f"[bold]{number}. {title}", align="left")
    console.print(text)


def placements(console: Console, placed: Sequence[Pod], zones: Mapping[str, str]) -> None:
    """Where pods went."""
    table = Table("pod", "node", "zone")
    for pod in placed:
        table.add_row(pod.metadata.name, pod.spec.node_name, zones.get(pod.spec.node_name, ""))
    console.print(table)


def decision(console: Console, decided: Decision, *, plugins: Sequence[str]) -> None:
    """Every node: why not, or its score, with the plugins that tell them apart."""
    table = Table("node", "verdict", *plugins, "total", title=f"decision on {decided.pod}", title_justify="left")
    for node in sorted(decided.feasible, key=lambda name: (-decided.totals[name], name)):
        marked = f"[bold green]{node}[/]" if node in decided.best else node
        shares = [str(decided.scores[node].get(plugin, 0)) for plugin in plugins]
        verdict = "[green]best[/]" if node in decided.best else "fits"
        table.add_row(marked, verdict, *shares, str(decided.totals[node]))
    for node, status in sorted(decided.rejected.items()):
        reason = f"[red]{status.plugin}[/]: {status.message}"
        table.add_row(node, reason, *("" for _ in plugins), "")
    console.print(table)
    if decided.message:
        console.print(f"[yellow]{decided.message}[/]")
    if decided.preemption is not None and decided.preemption.node:
        victims = ", ".join(decided.preemption.victims)
        node = f"[bold]{decided.preemption.node}[/] (or a node that costs as little)"
        console.print(f"preemption would free {node} by evicting {victims}")
