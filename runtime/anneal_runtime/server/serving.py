"""State that the routes share: the loaded engine, its adapters, the threads for texts and grammars."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

from starlette.requests import Request

from anneal_runtime.server.account_turns import AccountThreads
from anneal_runtime.server.errors import ApiError

if TYPE_CHECKING:
    from anneal_runtime.server.adapters import AdapterStore
    from anneal_runtime.server.engine import Engine
    from anneal_runtime.server.metrics import EngineMetrics
    from anneal_runtime.server.text_threads import TextThreads

T = TypeVar("T")
ACCOUNT_HEADER = "x-anneal-account"
# Compiling runs beside the decoding thread, which needs the processor more.
COMPILING_THREADS = 1


@dataclass(frozen=True)
class Serving:
    engine: Engine
    adapters: AdapterStore
    metrics: EngineMetrics
    texts: TextThreads
    compiling: AccountThreads = field(default_factory=lambda: AccountThreads("grammar", COMPILING_THREADS))


def account_of(request: Request) -> str:
    """The account for which the service asks. Accounts take turns."""
    return request.headers.get(ACCOUNT_HEADER, "")


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
