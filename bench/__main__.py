"""`make bench`: the table of targets, the figures, and how they grow with the cluster."""

import argparse
import asyncio

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from tests.cluster.gangs.places import CONTESTANTS, Ground
from tools.control_plane.binaries import folder, missing

from bench import apiserver, claims, decisions, extenders, memory, processes
from bench.gangs import decisions as gangs
from bench.gangs.playing import overview, play
from bench.gangs.scenarios import SIZES

NODES = 5_000
GROWTH = (1_000, 5_000, 20_000, 100_000)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="one run of each, no clusters beyond 20,000 nodes")
    chosen = options.parse_args()
    console = Console()
    repeats = 1 if chosen.quick else 3
    growth = GROWTH[:3] if chosen.quick else GROWTH
    with Progress(console=Console(stderr=True), transient=True) as progress:
        console.print(_targets(progress, repeats, large=not chosen.quick))
        console.print(_growth(progress, growth))
        console.print(gangs.table(repeats))
        ground, ours = Ground(is_real=False), CONTESTANTS[:2]
        console.print(overview(ground, ours, SIZES, asyncio.run(play(ground, ours, SIZES, repeats))))
        console.print(apiserver.table(apiserver.measure(quick=chosen.quick)))
        claims.show(console, quick=chosen.quick)
        console.print(extenders.served_table(extenders.serve()))
        if chosen.quick:
            return
        if not missing(folder()):
            console.print(_processes(progress))
            kube = extenders.ask("kube-scheduler", pods=500)
            console.print(extenders.asked_table(kube, extenders.ask("moorage", pods=4000)))
        else:
            console.print("whole processes were not measured: `make control-plane` builds what that needs")


def _targets(progress: Progress, repeats: int, *, large: bool) -> Table:
    table = Table(title=f"decisions in memory, {NODES:,} nodes, 50,000 pods running (CPU time)")
    for heading in ("what", "measured", "goal", "measured / goal"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for one in progress.track(decisions.SCENARIOS, description="decisions"):
        spent = decisions.measure(one, NODES, repeats=repeats)
        table.add_row(one.name, f"{spent:,.0f} us", f"{one.goal:,} us", f"{spent / one.goal:.1f}")
    if large:
        spent = decisions.fill(100_000, 100_000)
        table.add_row("100,000 nodes, 100,000 pods", f"{spent:.1f} s", "4 s", f"{spent / 4:.1f}")
    held = memory.mebibytes(NODES, 50_000)
    table.add_row("memory, 5,000 nodes + 50,000 pods", f"{held} MiB", "120 MiB", f"{held / 120:.1f}")
    return table


def _processes(progress: Progress) -> Table:
    """Both schedulers on a real API server, and ours on the embedded one, in one run."""
    table = Table(title=f"whole processes, {NODES:,} nodes, 2,000 pods waiting, qps 5,000")
    for heading in ("what", "kube-scheduler", "moorage", "ratio", "goal", "moorage, embedded API server"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    task = progress.add_task("processes", total=3)
    measured = []
    for measure in (processes.kube_scheduler, processes.moorage_scheduler, processes.embedded):
        measured.append(measure())
        progress.advance(task)
    rows = (
        ("bound pods a second", "pods_per_second", "", ">= 2x"),
        ("CPU of the process a pod", "cpu_us_a_pod", " us", "<= 150 us"),
        ("resident memory", "rss_mib", " MiB", ""),
        ("p99 create to bound at 100 pods/s", "p99_ms", " ms", ""),
    )
    for what, name, unit, target in rows:
        kube, ours, embedded = (getattr(figures, name) for figures in measured)
        cells = (f"{kube:,.0f}{unit}", f"{ours:,.0f}{unit}", f"{ours / kube:.2f}", target, f"{embedded:,.0f}{unit}")
        table.add_row(what, *cells)
    return table


def _growth(progress: Progress, sizes: tuple[int, ...]) -> Table:
    table = Table(title="growth: a decision in microseconds of CPU, by number of nodes")
    table.add_column("what")
    for nodes in sizes:
        table.add_column(f"{nodes:,}", justify="right")
    scenarios = decisions.SCENARIOS[:-1]
    task = progress.add_task("growth", total=len(scenarios) * len(sizes))
    for one in scenarios:
        cells = []
        for nodes in sizes:
            cells.append(f"{decisions.measure(one, nodes, repeats=1):,.0f}")
            progress.advance(task)
        table.add_row(one.name, *cells)
    return table


if __name__ == "__main__":
    main()
