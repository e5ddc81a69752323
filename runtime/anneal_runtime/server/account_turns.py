"""Turns between accounts: one account's long line delays another by a piece of work."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


class AccountTurns:
    """Lives on the event loop. An account's own turns are first come, first served."""

    def __init__(self, at_once: int = 1) -> None:
        self._free = at_once
        # The account whose turn is next comes first.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def turn(self, account: str) -> AsyncIterator[None]:
        await self.take(account)
        try:
            yield
        finally:
            self.end()

    async def take(self, account: str) -> None:
        if self._free > 0:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(account, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            # The turn may have come at the same moment.
            if turn.done() and not turn.cancelled():
                self.end()
            raise

    def end(self) -> None:
        while self._waiting:
            account, turns = next(iter(self._waiting.items()))
            turn = turns.popleft()
            del self._waiting[account]
            if turns:
                self._waiting[account] = turns
            if not turn.cancelled():
                turn.set_result(None)
                return
        self._free += 1


class AccountThreads:
    """Threads that accounts take in turns, a piece of work each."""

    def __init__(self, name: str, threads: int = 1) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._turns = AccountTurns(threads)

    async def run(self, account: str, work: Callable[..., T], *args: object) -> T:
        """Cancelling it gives up the place in the line; work that has begun goes on."""
        await self._turns.take(account)
        running = asyncio.get_running_loop().run_in_executor(self._threads, work, *args)
        running.add_done_callback(self._ended)
        # Without the shield, a cancelled call would give its thread to the next one while it is still busy.
        return await asyncio.shield(running)

    def _ended(self, work: asyncio.Future[T]) -> None:
        # Reading the error here keeps asyncio from reporting it when the caller has gone.
        if not work.cancelled():
            work.exception()
        self._turns.end()
