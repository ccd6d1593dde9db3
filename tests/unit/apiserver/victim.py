"""A server in a process of its own, to be killed. It is forked from one that has imported all of this already."""

import asyncio
import multiprocessing
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from moorage.apiserver.server import ApiServer, Options

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__])


def serve(data: Path, told: Connection) -> None:
    """Serve what is kept in `data` until the end; tell URL, token and CA."""

    async def serving() -> None:
        async with ApiServer(Options(port=0, data_dir=data)) as server:
            told.send((server.url, server.admin_token, server.ca.decode()))
            await asyncio.Event().wait()

    asyncio.run(serving())


class Victim:
    """The process, begun again and again on what the one before it left."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._process: BaseProcess | None = None

    async def start(self) -> tuple[str, str, str]:
        """Begin, and wait until it serves: its URL, token and CA."""
        ours, theirs = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(target=serve, args=(self._data, theirs), daemon=True)
        self._process.start()
        theirs.close()
        with ours:
            told: tuple[str, str, str] = await asyncio.to_thread(ours.recv)
        return told

    async def kill(self) -> None:
        """End it as kill -9 does."""
        assert self._process is not None
        self._process.kill()
        await asyncio.to_thread(self._process.join)
        self._process.close()
