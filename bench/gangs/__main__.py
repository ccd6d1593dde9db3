"""Plays the scenarios for every scheduler that is there, in one run, and prints what came of it."""

import argparse
import asyncio
import sys
from pathlib import Path

from rich.console import Console
from tests.cluster.gangs.places import CONTESTANTS, COSCHEDULING, Ground

from bench.gangs.playing import overview, play
from bench.gangs.report import table, write
from bench.gangs.scenarios import LARGE, SCENARIOS, SIZES

_ALL = (*SCENARIOS, *LARGE, *SIZES)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("where", choices=("embedded", "real"), help="which API server")
    parser.add_argument("--repeats", type=int, default=3, help="how often each is played; the medians are shown")
    parser.add_argument("--only", default="", help=f"of {', '.join(one.name for one in _ALL)}")
    parser.add_argument("--among", default="", help=f"of {', '.join(one.name for one in CONTESTANTS)}")
    parser.add_argument("--write", type=Path, help="a page with the table in it, such as docs/gangs.md")
    chosen = parser.parse_args()
    only, among = (set(text.split(",")) - {""} for text in (chosen.only, chosen.among))
    scenarios = [one for one in _ALL if one.name in only] or SCENARIOS
    ground = Ground(is_real=chosen.where == "real")
    contestants = [one for one in CONTESTANTS if one.is_there and (one.name in among or not among)]
    if not ground.is_real and not among:
        contestants = [one for one in contestants if one.is_ours]
    if ground.is_real and not any(one.name == "coscheduling" for one in contestants):
        print(f"left out: coscheduling (${COSCHEDULING} says where it is)", file=sys.stderr)
    played = asyncio.run(play(ground, contestants, scenarios, chosen.repeats))
    Console(width=200).print(overview(ground, contestants, scenarios, played))
    print("\n".join(table(played)))
    if chosen.write is not None:
        write(chosen.write, played, chosen.repeats)


if __name__ == "__main__":
    main()
