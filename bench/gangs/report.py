"""The table of docs/gangs.md: a row is a scenario and what is asked of it, a column a scheduler; cells are medians."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.gangs.playing import Played
from bench.gangs.scenarios import WAITING, Outcome

HEADING: Final = "## Beside others"
MARK: Final = "| scenario | |"
"""How its part of the page begins, and the table in it."""

INTRODUCTION: Final = """\
`python -m bench.gangs real`: Kubernetes 1.37.1 on one machine of two cores; every scheduler on an API server of its
own, without limits of clients (200 requests a second before it is killed). Moorage by label and by Kubernetes' API,
kube-scheduler 1.37.1 with its gate, and scheduler-plugins' coscheduling 0.34.7. One run, medians of {repeats}; what
mostly waits was played beside each other, what works one after the other. "never": not within 30 s, in the row of the
small gangs not within 70 s.
"""

COLUMNS: Final = ("moorage-crd", "moorage-native", "coscheduling", "kube-scheduler")


@dataclass(frozen=True)
class Row:
    """What is shown of a scenario."""

    scenario: str
    title: str
    what: str
    cell: Callable[[Sequence[Outcome]], str]


def table(played: Played) -> list[str]:
    """The lines of the table."""
    lines = [
        f"{MARK} Moorage, label | Moorage, native | coscheduling | kube-scheduler |",
        "|---|---|---|---|---|---|",
    ]
    for row in ROWS:
        outcomes = [played.get((row.scenario, name), []) for name in COLUMNS]
        cells = [row.cell(some) if some else "" for some in outcomes]
        lines.append(f"| {row.title} | {row.what} | {' | '.join(cells)} |")
    return lines


def write(page: Path, played: Played, repeats: int) -> None:
    """Put the table in the place of the one that is on the page, with what is said before it."""
    lines = page.read_text().splitlines()
    start = lines.index(HEADING)
    first = next(number for number in range(start, len(lines)) if lines[number].startswith(MARK))
    end = next(number for number in range(first, len(lines)) if not lines[number].startswith("|"))
    made = [HEADING, "", *INTRODUCTION.format(repeats=repeats).splitlines(), "", *table(played)]
    page.write_text("\n".join([*lines[:start], *made, *lines[end:]]) + "\n")


def _seconds(outcomes: Sequence[Outcome]) -> str:
    """The median, where most got there."""
    found = statistics.median(math.inf if one.seconds is None else one.seconds for one in outcomes)
    return "never" if math.isinf(found) else f"{found:.1f} s" if found >= 0.1 else f"{found:.2f} s"


def _attempts(outcomes: Sequence[Outcome]) -> str:
    return f"{statistics.median(one.attempts for one in outcomes):,.0f}"


def _cpu(outcomes: Sequence[Outcome]) -> str:
    return f"{statistics.median(one.cpu for one in outcomes):.1f} s"


def _alone(outcomes: Sequence[Outcome]) -> str:
    count = statistics.median(one.left_alone for one in outcomes)
    told = sum(one.is_told for one in outcomes) * 2 > len(outcomes)
    return f"{count:.0f}{', told which' if told and count else ''}"


def _bound(outcomes: Sequence[Outcome]) -> str:
    return f"{statistics.median(one.bound for one in outcomes):.0f}, {_attempts(outcomes)}"


def _rate(outcomes: Sequence[Outcome]) -> str:
    if any(one.seconds is None for one in outcomes):
        return "never"
    rate = statistics.median(one.pods / one.seconds for one in outcomes if one.seconds)
    cpu = statistics.median(one.cpu_a_pod for one in outcomes)
    return f"{rate:,.0f}, {cpu * 1e6:,.0f} us"


_SHORT: Final = f"a gang of 1,000, one slot short, for {WAITING:.0f} s"

ROWS: Final = (
    Row("two", "two gangs of 8, room for one: the 5 s after the first runs", "attempts", _attempts),
    Row("sixty", "60 gangs of 5 on 150 slots, each deleted 3 s after it runs", "all ran after", _seconds),
    Row("behind", "a gang of 50 on 45 slots, 20 gangs of 2 behind it", "the last small one after", _seconds),
    Row("short", _SHORT, "CPU", _cpu),
    Row("short", "then a node comes", "whole after", _seconds),
    Row("killed", "kill -9 in the middle of 300 binds, some of the room taken; 10 s later", "members alone", _alone),
    Row("killed", "the same, once there is room", "whole after", _seconds),
    Row("refused", "one bind of 8 refused for 11, 13, 15 s", "members alone", _alone),
    Row("refused", "then it is let through", "whole after", _seconds),
    Row("again", "a gang of 10 made again, one slot short, 5 s", "bound, attempts", _bound),
    Row("gangs", "1,000 pods in gangs of 10, 1,000 nodes", "pods/s, CPU a pod", _rate),
    Row("singles", "1,000 single pods, 1,000 nodes", "pods/s, CPU a pod", _rate),
)
