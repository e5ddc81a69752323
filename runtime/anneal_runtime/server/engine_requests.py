"""Hands requests from the event loop to the decoding thread; a request stops when its caller is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from anneal_runtime.server.decoding.extras import Score
from anneal_runtime.server.decoding.rows import Answer, GenerationRequest, Row, SamplingParams

if TYPE_CHECKING:
    import numpy as np
    from llguidance import LLMatcher
    from numpy.typing import NDArray

    from anneal_runtime.server.engine import Engine

T = TypeVar("T")


async def generate(
    engine: Engine,
    prompts: list[list[int]],
    params: SamplingParams,
    *,
    account: str = "",
    adapter: Any = None,
    grammar: LLMatcher | None = None,
    on_text: Callable[[int, str, list[Score]], None] | None = None,
) -> list[Answer]:
    """One answer a prompt, in order. Every prompt must leave room in the context. Cancelling it stops its rows."""
    answers, on_done = _future(list[Answer])
    request = GenerationRequest(adapter, grammar, on_done, on_text, account)
    for index, prompt in enumerate(prompts):
        room = engine.context_length - len(prompt)
        request.rows.append(Row(request, index, prompt, params, min(params.max_tokens, room)))
    if not request.rows:
        return []
    # Longest first: later rows then join a batch that is already as wide as they are.
    request.queued = sorted(request.rows, key=lambda row: len(row.prompt))
    engine.scheduler.submit(request)
    try:
        return await answers
    finally:
        if not answers.done() or answers.cancelled():
            engine.scheduler.cancel(request)


async def stream(
    engine: Engine,
    prompts: list[list[int]],
    params: SamplingParams,
    *,
    account: str,
    adapter: Any,
    grammar: LLMatcher | None,
) -> AsyncIterator[tuple[int, str, list[Score]] | list[Answer]]:
    """Pieces of text with index and scores as they come, and last the answers. Closing it stops its rows."""
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[tuple[int, str, list[Score]] | None] = asyncio.Queue()

    def on_text(index: int, piece: str, scores: list[Score]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(pieces.put_nowait, (index, piece, scores))

    answering = generate(engine, prompts, params, account=account, adapter=adapter, grammar=grammar, on_text=on_text)
    job = asyncio.ensure_future(answering)
    job.add_done_callback(lambda _job: pieces.put_nowait(None))
    try:
        while (piece := await pieces.get()) is not None:
            yield piece
        yield job.result()
    finally:
        job.cancel()


async def encode(
    engine: Engine, texts: list[list[list[int]]], adapter: Any, *, account: str = ""
) -> list[NDArray[np.float32]]:
    """One vector for each text, in order. `texts` holds the windows of each. Cancelling it stops the work."""
    from anneal_runtime.server.decoding.encoding import EncodeRequest

    if not texts:
        return []
    finished, on_done = _future(type(None))
    request = EncodeRequest(engine.encoder, texts, adapter, on_done, account)
    engine.scheduler.submit(request)
    try:
        await finished
        return request.vectors()
    finally:
        if not finished.done() or finished.cancelled():
            engine.scheduler.cancel(request)


def _future(_kind: type[T]) -> tuple[asyncio.Future[T], Callable[[T | Exception], None]]:
    """A future and the function that settles it from another thread."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | Exception) -> None:
        if future.done():
            return
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)

    def on_done(result: T | Exception) -> None:
        # A closed loop means that the server is exiting: nobody waits for the answer.
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result)

    return future, on_done
