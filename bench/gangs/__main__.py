"""Plays the scenarios for every scheduler that is there, in one run, and prints the table."""

import argparse
import asyncio
import statistics
import sys

from rich.console import Console
from rich.table import Table
from tests.cluster.gangs.places import CONTESTANTS, COSCHEDULING, Contestant, Ground

from bench.gangs.scenarios import SCENARIOS, Outcome, Scenario


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("where", choices=("embedded", "real"), help="which API server")
    parser.add_argument("--repeats", type=int, default=3, help="how often each is played; the medians are shown")
    parser.add_argument("--only", default="", help=f"of {', '.join(one.name for one in SCENARIOS)}")
    parser.add_argument("--among", default="", help=f"of {', '.join(one.name for one in CONTESTANTS)}")
    chosen = parser.parse_args()
    scenarios = [one for one in SCENARIOS if not chosen.only or one.name in chosen.only.split(",")]
    wanted = [name.strip() for name in chosen.among.split(";") if name.strip()]
    ground = Ground(is_real=chosen.where == "real")
    contestants = [one for one in CONTESTANTS if one.is_there and (ground.is_real or one.is_ours)]
    contestants = [one for one in contestants if not wanted or one.name in wanted]
    if ground.is_real and not any(one.name == "coscheduling" for one in contestants):
        print(f"left out: coscheduling (${COSCHEDULING} says where it is)", file=sys.stderr)
    Console(width=200).print(asyncio.run(_play(ground, contestants, scenarios, chosen.repeats)))


async def _play(ground: Ground, contestants: list[Contestant], scenarios: list[Scenario], repeats: int) -> Table:
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


if __name__ == "__main__":
    main()
