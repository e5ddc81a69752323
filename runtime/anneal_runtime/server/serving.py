"""State that the routes share: the loaded engine, its adapters, the tokenizer's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

from starlette.requests import Request

from anneal_runtime.server.errors import ApiError
from anneal_runtime.tokenization import ChatRefused, chat_tokens

if TYPE_CHECKING:
    from anneal_runtime.server.adapters import AdapterStore
    from anneal_runtime.server.engine import Engine
    from anneal_runtime.server.metrics import EngineMetrics

T = TypeVar("T")
TOKENIZE_AT_ONCE = 256


@dataclass(frozen=True)
class Serving:
    engine: Engine
    adapters: AdapterStore
    metrics: EngineMetrics
    # One thread: tokenizers are not safe to share. Large requests take it in turns, a piece each.
    text_thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="text"))

    async def tokenize(self, texts: list[str]) -> list[list[int]]:
        return await self._in_pieces(self.engine.prompt_tokens, texts)

    async def chat_tokens(self, messages: list[dict[str, str]]) -> list[int]:
        """Raises ApiError 400 for what the model's template does not take."""
        loop = asyncio.get_running_loop()
        try:
            return (await loop.run_in_executor(self.text_thread, chat_tokens, self.engine.tokenizer, [messages]))[0]
        except ChatRefused as error:
            raise ApiError(400, str(error), param="messages") from error

    async def windows(self, texts: list[str]) -> list[list[list[int]]]:
        return await self._in_pieces(self.engine.windows, texts)

    async def _in_pieces(self, tokens_of: Callable[[list[str]], list[T]], texts: list[str]) -> list[T]:
        loop = asyncio.get_running_loop()
        tokens: list[T] = []
        for start in range(0, len(texts), TOKENIZE_AT_ONCE):
            piece = texts[start : start + TOKENIZE_AT_ONCE]
            tokens += await loop.run_in_executor(self.text_thread, tokens_of, piece)
        return tokens


def serving_of(request: Request) -> Serving:
    """Raises ApiError 503 until the model is loaded."""
    serving = request.app.state.serving
    if serving is None:
        raise ApiError(503, "The model is loading.")
    return cast(Serving, serving)


async def stop_with_client(request: Request, job: Coroutine[Any, Any, T]) -> T:
    """The job's result; the job is cancelled when the client goes away first."""
    task, gone = asyncio.ensure_future(job), asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ApiError(400, "The client went away.")
    finally:
        task.cancel()
        gone.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
