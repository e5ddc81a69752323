"""vLLM over HTTP on this pod's loopback. A connection a request: closing it is how vLLM learns that nobody waits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from anneal_runtime.http_exchange import means_later

# Limits connecting only: an answer may take as long as it needs.
CONNECT_TIMEOUT_S = 5.0
# Its health is answered beside its work: one that takes longer has hung.
HEALTH_TIMEOUT_S = 20.0
MAX_HEAD_BYTES = 64 << 10


class EngineAway(Exception):
    """No connection, one that ended before its answer did, or an answer that means "later"."""


@dataclass(frozen=True)
class EngineAnswer:
    status: int
    body: bytes

    def settled(self) -> EngineAnswer:
        """This answer, unless its status means "later". Raises EngineAway."""
        if means_later(self.status):
            raise EngineAway(f"vLLM answered {self.status}: {self.message()}")
        return self

    def json(self) -> Any:
        """Raises ValueError."""
        return json.loads(self.body)

    def message(self) -> str:
        try:
            return str(self.json()["error"]["message"])
        except (ValueError, KeyError, TypeError):
            return self.body.decode(errors="replace")[:500]


class VllmClient:
    def __init__(self, url: str, api_key: str | None = None) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self._authorization = f"Authorization: Bearer {api_key}\r\n" if api_key else ""

    async def is_healthy(self) -> bool:
        try:
            answer = await asyncio.wait_for(self.get("/health"), HEALTH_TIMEOUT_S)
        except (EngineAway, TimeoutError):
            return False
        return answer.status == 200

    async def get(self, path: str) -> EngineAnswer:
        return await self.send("GET", path, b"")

    async def post(self, path: str, body: Any) -> EngineAnswer:
        return await self.send("POST", path, json.dumps(body).encode())

    async def send(self, method: str, path: str, body: bytes) -> EngineAnswer:
        """Raises EngineAway. Cancelling it closes the connection, which ends the work."""
        async with self._exchange(method, path, body) as reader:
            status, headers = await _read_head(reader)
            return EngineAnswer(status, b"".join([piece async for piece in _pieces(reader, headers)]))

    async def stream(self, path: str, body: Any) -> AsyncIterator[EngineAnswer | bytes]:
        """First the answer's head, with its body when it is a refusal; then the body as it comes. Raises EngineAway."""
        async with self._exchange("POST", path, json.dumps(body).encode()) as reader:
            status, headers = await _read_head(reader)
            if status != 200:
                yield EngineAnswer(status, b"".join([piece async for piece in _pieces(reader, headers)]))
                return
            yield EngineAnswer(status, b"")
            async for piece in _pieces(reader, headers):
                yield piece

    @asynccontextmanager
    async def _exchange(self, method: str, path: str, body: bytes) -> AsyncIterator[asyncio.StreamReader]:
        try:
            connecting = asyncio.open_connection(self._host, self._port, limit=MAX_HEAD_BYTES)
            reader, writer = await asyncio.wait_for(connecting, CONNECT_TIMEOUT_S)
        except (OSError, TimeoutError) as error:
            raise EngineAway(f"vLLM does not answer at port {self._port}: {error}") from error
        try:
            head = (
                f"{method} {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\nConnection: close\r\n"
                f"{self._authorization}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            await writer.drain()
            yield reader
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            raise EngineAway(f"vLLM ended {method} {path} without an answer: {error}") from error
        finally:
            writer.close()


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    return int(head[0].split(" ", 2)[1]), headers


async def _pieces(reader: asyncio.StreamReader, headers: dict[str, str]) -> AsyncIterator[bytes]:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            yield await reader.readexactly(size)
            await reader.readexactly(2)
    elif "content-length" in headers:
        yield await reader.readexactly(int(headers["content-length"]))
    else:
        yield await reader.read()
