"""Plays scenarios for contestants: those that work one after the other, those that wait beside each other."""

import asyncio
import statistics
import sys
import traceback
from collections.abc import Iterable, Sequence

from rich.table import Table
from tests.cluster.gangs.places import Contestant, Ground

from bench.gangs.scenarios import Outcome, Scenario

APART = 2.0
"""Seconds between the beginnings of plays beside each other, scheduler by scheduler."""

#: What came of every play, by the names of scenario and contestant.
Played = dict[tuple[str, str], list[Outcome]]


async def play(
    ground: Ground, contestants: Sequence[Contestant], scenarios: Sequence[Scenario], repeats: int
) -> Played:
    """Play every scenario so often for every contestant."""
    played: Played = {(scenario.name, one.name): [] for scenario in scenarios for one in contestants}
    for wave in _waves(scenarios):
        # One after the other in each round, so that a change of the machine's mood meets all of them.
        for turn in range(repeats):
            pairs = [(scenario, one) for scenario in wave for one in contestants]
            for together in [pairs] if wave[0].wave else [[pair] for pair in pairs]:
                outcomes = await _round_or_again(ground, together, turn)
                for (scenario, one), outcome in zip(together, outcomes, strict=True):
                    played[scenario.name, one.name].append(outcome)
                    print(f"{scenario.name}: {one.name}: {outcome}", file=sys.stderr, flush=True)
    return played


def _waves(scenarios: Iterable[Scenario]) -> list[list[Scenario]]:
    waves: dict[str, list[Scenario]] = {}
    for scenario in scenarios:
        waves.setdefault(scenario.wave or scenario.name, []).append(scenario)
    return list(waves.values())


async def _round_or_again(ground: Ground, pairs: Sequence[tuple[Scenario, Contestant]], turn: int) -> list[Outcome]:
    """A round that breaks (a port was taken, a server did not start) is told of and played once more."""
    try:
        return await _round(ground, pairs, turn)
    except ExceptionGroup:
        traceback.print_exc()
    return await _round(ground, pairs, turn)


async def _round(ground: Ground, pairs: Sequence[tuple[Scenario, Contestant]], turn: int) -> list[Outcome]:
    """One play each, which begin when all API servers are there; none of these ends before all plays have."""
    names = list(dict.fromkeys(one.name for _, one in pairs))
    ready, over = asyncio.Barrier(len(pairs)), asyncio.Barrier(len(pairs))

    async def one(scenario: Scenario, contestant: Contestant) -> Outcome:
        async with ground.place(contestant) as place:
            await ready.wait()
            # What one of them does in a burst, binds above all, is not to fall together with the others'.
            await asyncio.sleep(APART * names.index(contestant.name))
            outcome = await scenario.plays[turn % len(scenario.plays)](place)
            await over.wait()
        return outcome

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(*pair)) for pair in pairs]
    return [task.result() for task in tasks]


def overview(ground: Ground, contestants: Sequence[Contestant], scenarios: Sequence[Scenario], played: Played) -> Table:
    """All that was measured, as medians; in words what was said of the last play."""
    where = "a real control plane" if ground.is_real else "the embedded API server"
    table = Table(title=f"gangs on {where}, medians")
    for heading in ("scenario", "scheduler", "seconds", "CPU", "attempts", "part alone", "left alone", "and"):
        table.add_column(heading, justify="left" if heading in ("scenario", "scheduler", "and") else "right")
    for scenario in scenarios:
        for position, one in enumerate(contestants):
            cells = _cells(played[scenario.name, one.name])
            table.add_row("" if position else scenario.title, one.name, *cells)
    return table


def _cells(played: list[Outcome]) -> tuple[str, ...]:
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
