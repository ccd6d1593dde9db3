"""Traces one pod through a live scheduler, from the bytes of a watch to its bind, and prints its way.

    python -m tools.way            print it: each function indented by who calls it, and what it says of itself
    python -m tools.way --write    put it into ARCHITECTURE.md

An embedded API server, a node and a scheduler run in this process; while a pod is created and bound, each function of
Moorage that is handed the pod (or the bytes that tell of it) is noted where it is first called. Left out are the API
server's functions, constructors, and what plugins do: of those the one that binds stands for all.
"""

import argparse
import asyncio
import inspect
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

from moorage.apiserver.server import ApiServer
from moorage.columns import PodInfo
from moorage.config import parse_config
from moorage.engine.engine import default_registry
from moorage.kube.access import load_access
from moorage.kube.paths import resource_of
from moorage.kube.transport import Client
from moorage.live.process import SteadyClock
from moorage.live.scheduler import LiveScheduler
from moorage.objects import Pod

NAME: Final = "traced-pod"
SEEN_AT_MOST: Final = 3
"""How deep an argument is looked into for the pod."""

BEGINNING, END = "moorage.kube.decoding.Decoder.event", "moorage.kube.transport.Client.request"
ELSEWHERE: Final = ("moorage.apiserver", "moorage.nodes", "moorage.objects", "moorage.values", "moorage.observe")
"""Not the scheduler, or the vocabulary that all of it speaks."""

PLUGINS, BINDER = "moorage.plugins", "moorage.plugins.default_binder"
PAGE: Final = Path(__file__).parent.parent / "ARCHITECTURE.md"
FENCE: Final = ("<!-- the way of a pod, by `python -m tools.way --write` -->\n```\n", "```\n<!-- end of the way -->")
WIDTH: Final = 120

PATIENCE: Final = 30.0


@dataclass(frozen=True)
class Step:
    """A function on the way: how deep it was called, and what it says of itself."""

    name: str
    depth: int
    says: str


@dataclass
class Way:
    """Notes the functions that carry the pod. Installed as the interpreter's profiler for as long as that takes."""

    steps: list[Step] = field(default_factory=list)
    _seen: set[CodeType] = field(default_factory=set)
    _begun: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """A call or a return, as `sys.setprofile` tells it."""
        if event != "call" or self.ended.is_set() or frame.f_code in self._seen or not _is_ours(frame):
            return
        name = _name(frame)
        if not (self._begun or name == BEGINNING) or not _carries(frame):
            return
        self._begun = True
        for caller in reversed([frame, *_callers(frame)]):
            self._note(caller)
        if name == END:
            self.ended.set()

    def _note(self, frame: FrameType) -> None:
        if frame.f_code in self._seen or not _is_ours(frame):
            return
        self._seen.add(frame.f_code)
        depth = sum(1 for caller in _callers(frame) if caller.f_code in self._seen)
        self.steps.append(Step(_name(frame).removeprefix("moorage."), depth, _says(frame)))


def _is_ours(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__", ""))
    if (
        not module.startswith("moorage.")
        or module.startswith(ELSEWHERE)
        or frame.f_code.co_name.startswith(("__", "<"))
    ):
        return False
    return module.startswith(BINDER) or not module.startswith(PLUGINS)


def _name(frame: FrameType) -> str:
    return f"{frame.f_globals['__name__']}.{frame.f_code.co_qualname}"


def _callers(frame: FrameType) -> Iterator[FrameType]:
    caller = frame.f_back
    while caller is not None:
        yield caller
        caller = caller.f_back


def _carries(frame: FrameType) -> bool:
    """Whether one of the arguments is the pod, holds it, or tells of it."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return any(_mentions(frame.f_locals.get(name), SEEN_AT_MOST) for name in names if name not in ("self", "cls"))


def _mentions(value: object, deep: int) -> bool:
    if isinstance(value, bytes | bytearray | memoryview):
        return NAME.encode() in bytes(value)
    if isinstance(value, str):
        return NAME in value
    if isinstance(value, PodInfo | Pod):
        return NAME in value.key if isinstance(value, PodInfo) else value.metadata.name == NAME
    if not deep:
        return False
    if isinstance(value, list | tuple):
        return any(_mentions(one, deep - 1) for one in value[:4])
    return any(_mentions(getattr(value, name, None), deep - 1) for name in ("pod", "placement", "queued", "object"))


def _says(frame: FrameType) -> str:
    """The first sentence of the function's docstring."""
    found: object = sys.modules[frame.f_globals["__name__"]]
    for part in frame.f_code.co_qualname.split("."):
        found = getattr(found, part, None)
    text = " ".join((inspect.getdoc(found) or "").partition("\n\n")[0].split()) if callable(found) else ""
    return text.partition(". ")[0].removesuffix(".")


async def trace() -> list[Step]:
    """The way of one pod, on a cluster of its own."""
    with tempfile.TemporaryDirectory(prefix="moorage-way-") as folder:
        kubeconfig = Path(folder, "kubeconfig")
        async with ApiServer() as server:
            server.write_kubeconfig(kubeconfig)
            async with Client(load_access(kubeconfig)) as client:
                return await _traced(client)


async def _traced(client: Client) -> list[Step]:
    config = parse_config({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"})
    scheduler = LiveScheduler(client=client, config=config, registry=default_registry(), now=SteadyClock(), seed=1)
    await client.post(resource_of("Node").path(), json.dumps(_NODE).encode())
    stopping, way = asyncio.Event(), Way()
    async with asyncio.TaskGroup() as group:
        following = group.create_task(scheduler.follow())
        leading = group.create_task(scheduler.lead(stopping))
        try:
            async with asyncio.timeout(PATIENCE):
                await scheduler.synced.wait()
                sys.setprofile(way)
                await client.post(resource_of("Pod").path("default"), json.dumps(_POD).encode())
                await way.ended.wait()
        finally:
            sys.setprofile(None)
            stopping.set()
            await asyncio.wait([leading])
            following.cancel()
    return way.steps


_ROOM: Final = {"cpu": "4", "memory": "8Gi", "pods": "20"}
_NODE: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "node-0", "labels": {"kubernetes.io/hostname": "node-0"}},
    "status": {"capacity": _ROOM, "allocatable": _ROOM, "conditions": [{"type": "Ready", "status": "True"}]},
}
_POD: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": NAME},
    "spec": {"containers": [{"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": "1"}}}]},
}


def told(steps: Sequence[Step]) -> str:
    """The way as lines of text."""
    return "".join(_line(step) for step in steps)


def _line(step: Step) -> str:
    called = "  " * step.depth + f"{step.name}"
    line = f"{called:<68}  {step.says}" if step.says else called
    return (line if len(line) <= WIDTH else line[: WIDTH - 3].rpartition(" ")[0] + " ...") + "\n"


def on_page(page: str) -> str:
    """The way that ARCHITECTURE.md holds."""
    return page.partition(FENCE[0])[2].partition(FENCE[1])[0]


def main() -> None:
    """Print the way, or write it down."""
    options = argparse.ArgumentParser(description="Trace one pod from the bytes of a watch to its bind.")
    options.add_argument("--write", action="store_true", help=f"put it into {PAGE.name}")
    way = told(asyncio.run(trace()))
    if options.parse_args().write:
        page = PAGE.read_text()
        before, after = (page.partition(FENCE[0])[0], page.partition(FENCE[1])[2])
        PAGE.write_text(before + FENCE[0] + way + FENCE[1] + after)
    else:
        print(way, end="")


if __name__ == "__main__":
    main()
