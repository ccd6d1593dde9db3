"""Plays scenarios for contestants in turn, and makes the table."""

import statistics
import sys
from collections.abc import Sequence

from rich.table import Table
from tests.cluster.gangs.places import Contestant, Ground

from bench.gangs.scenarios import Outcome, Scenario


async def play(ground: Ground, contestants: Sequence[Contestant], scenarios: Sequence[Scenario], repeats: int) -> Table:
    """Play every scenario so often for every contestant."""
    where = "a real control plane" if ground.is_real else "the embedded API server"
    table = Table(title=f"gangs on {where}, medians of {repeats}")
    for heading in ("scenario", "scheduler", "seconds", "CPU", "attempts", "part alone", "left alone", "and"):
        table.add_column(heading, justify="left" if heading in ("scenario", "scheduler", "and") else "right")
    for scenario in scenarios:
        # One after the other in each round, so that a change of the machine's mood meets all of them.
        outcomes: dict[str, list[Outcome]] = {one.name: [] for one in contestants}
        for _ in range(repeats):
            for contestant in contestants:
                async with ground.place(contestant) as place:
                    outcome = await scenario.play(place)
                outcomes[contestant.name].append(outcome)
                print(f"{scenario.name}: {contestant.name}: {outcome}", file=sys.stderr, flush=True)
        for position, (name, played) in enumerate(outcomes.items()):
            table.add_row("" if position else scenario.title, name, *_cells(played))
    return table


def _cells(played: list[Outcome]) -> tuple[str, ...]:
    """The medians; in words what the last one said."""
    reached = [outcome.seconds for outcome in played if outcome.seconds is not None]
    seconds = (
        f"{statistics.median(reached):.1f} s" if len(reached) == len(played) else f"{len(reached)} of {len(played)}"
    )
    return (
        seconds,
        f"{statistics.median(outcome.cpu for outcome in played):.1f} s",
        f"{statistics.median(outcome.attempts for outcome in played):,.0f}",
        f"{statistics.median(outcome.alone for outcome in played):.1f} s",
        f"{statistics.median(outcome.left_alone for outcome in played):.0f}",
        played[-1].said,
    )
