"""A scheduler whose plugins are being written: begun again when their code changes, waited for while that is broken.

The cluster around it stays as it is: only the scheduler is made anew, from files read anew.
"""

import asyncio
import gc
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

import typer

from moorage.errors import InputError
from moorage.framework.registry import ENTRY_POINT_GROUP
from moorage.live.options import Options
from moorage.live.process import run_until

LOOK_SECONDS: Final = 0.5
"""How often files are looked at."""

Stamps = dict[Path, tuple[int, int]]


class Sources:
    """The files that a scheduler is made from: the code of its plugins, and its configuration."""

    def __init__(self, references: Sequence[str], config: Path | None) -> None:
        self._references = references
        self._config = config

    def code(self) -> list[Path]:
        """The files of plugins: those named, and the packages of modules named and of entry points."""
        found: dict[Path, None] = {}
        for reference in self._references:
            place = reference.rpartition(":")[0]
            found.update(dict.fromkeys([Path(place)] if place.endswith(".py") else _package(place)))
        for entry in entry_points(group=ENTRY_POINT_GROUP):
            found.update(dict.fromkeys(_package(entry.module)))
        return [path for path in found if path.is_file()]

    @property
    def can_be_mended(self) -> bool:
        """Whether a change of a file may help a scheduler that cannot be made."""
        return bool(self.code()) and (self._config is None or self._config.is_file())

    def stamps(self) -> Stamps:
        """When each file was written, and how long it is."""
        found: Stamps = {}
        for path in [*self.code(), *([self._config] if self._config else [])]:
            try:
                stat = path.stat()
            except OSError:  # being replaced just now: it differs when it is back
                continue
            found[path] = stat.st_mtime_ns, stat.st_size
        return found

    def forget(self) -> None:
        """Have the code imported anew by whoever imports it next."""
        files = {path.resolve() for path in self.code()}
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file and Path(file).resolve() in files:
                del sys.modules[name]
        importlib.invalidate_caches()


def _package(module: str) -> Iterator[Path]:
    """The files of the package that a module is in; none of Moorage's own, nor of one that is not there."""
    top = module.partition(".")[0]
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return
    if spec is None or top == "moorage":
        return
    if spec.submodule_search_locations is None:
        yield from [Path(spec.origin)] if spec.origin else []
    for folder in spec.submodule_search_locations or ():
        yield from sorted(Path(folder).rglob("*.py"))


async def keep_scheduling(
    make: Callable[[], Options], sources: Sources, stopping: asyncio.Event, *, reload: bool
) -> None:
    """Run a scheduler until `stopping` is set.

    With `reload` it is begun again whenever a file changes. Where it cannot be made, the fault is told, and a change is
    waited for; InputError is raised where there is no code that could be mended, or no configuration.
    """
    # What is written twice in one second would be taken for what was compiled first.
    sys.dont_write_bytecode = sys.dont_write_bytecode or bool(sources.code())
    while not stopping.is_set():
        seen = sources.stamps()
        try:
            changed = await _run(make(), sources, seen, stopping, reload=reload)
        except InputError as error:
            if not sources.can_be_mended:
                raise
            typer.echo(str(error), err=True)
            typer.echo("no scheduler runs until that is mended; all else goes on", err=True)
            changed = await _change(sources, seen, stopping)
        if changed:
            typer.echo(f"{changed} changed: the scheduler begins again")
            sources.forget()
            # What the old one had read was set aside as there to stay.
            gc.unfreeze()


async def _run(options: Options, sources: Sources, seen: Stamps, stopping: asyncio.Event, *, reload: bool) -> str:
    """One scheduler's life. Returns the file that changed, "" where it was told to stop."""
    if not reload:
        await run_until(options, stopping)
        return ""
    ending = asyncio.Event()
    watching = asyncio.create_task(_change(sources, seen, stopping))
    watching.add_done_callback(lambda _: ending.set())
    try:
        await run_until(options, ending)
    finally:
        watching.cancel()
        await asyncio.wait([watching])
    return "" if watching.cancelled() else watching.result()


async def _change(sources: Sources, seen: Stamps, stopping: asyncio.Event) -> str:
    """Wait for a file to change, and for the changes to end. Its name; "" where `stopping` was set first."""
    latest = seen
    while not stopping.is_set():
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await stopping.wait()
        except TimeoutError:
            before, latest = latest, sources.stamps()
            if latest != seen and latest == before:
                return str(next(path for path in {**latest, **seen} if latest.get(path) != seen.get(path)))
    return ""
