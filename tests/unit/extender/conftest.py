"""Webhooks on loopback that answer what a test tells them to."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

Answering = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Webhook:
    """An HTTP server by hand, so that it can do what no library does."""

    port: int = 0
    scheme: str = "http"
    answering: Answering | None = None
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/scheduler"

    def answer(self, body: Any, status: int = 200) -> None:
        """From now on answer this: bytes as they are, anything else as JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send(
            b"HTTP/1.1 %d X\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % (status, len(content)) + content
        )

    def send(self, raw: bytes) -> None:
        """From now on answer these bytes, whatever they are, and hang up."""

        async def answering(writer: asyncio.StreamWriter) -> None:
            writer.write(raw)
            await writer.drain()

        self.answering = answering

    def hang(self) -> None:
        """From now on answer nothing at all."""

        async def answering(writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(3600)

        self.answering = answering

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            lines = [line.split(": ", 1) for line in head[1:] if line]
            headers = {name.lower(): value for name, value in lines}
            self.bodies.append(await reader.readexactly(int(headers.get("content-length", 0))))
            self.paths.append(head[0])
            self.headers.append(headers)
            assert self.answering is not None
            await self.answering(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(context: ssl.SSLContext | None = None) -> AsyncIterator[Webhook]:
    webhook = Webhook(scheme="https" if context else "http")
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        await webhook.serve(reader, writer)
        tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    webhook.port = server.sockets[0].getsockname()[1]
    try:
        yield webhook
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def webhook() -> AsyncIterator[Webhook]:
    async with serving() as one:
        yield one
