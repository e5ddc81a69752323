"""Turns between accounts: one account's long queue delays another by a piece of work.

While several accounts use the server, an account also rests for as long as its last turn took. So work that runs beside
the decoding thread, such as a load of an adapter, takes at most half of a processor from the answers of others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from time import monotonic
from typing import TypeVar

T = TypeVar("T")

# A server counts as shared for this time after another account has asked for something.
SHARED_FOR_S = 1.0


class Sharing:
    """Which accounts use the server now."""

    def __init__(self) -> None:
        # The two accounts that asked last, the later one first, each with the time.
        self._latest: list[tuple[str, float]] = []

    def note(self, account: str) -> None:
        others = [each for each in self._latest if each[0] != account]
        self._latest = [(account, monotonic()), *others[:1]]

    def has_others(self, account: str) -> bool:
        since = monotonic() - SHARED_FOR_S
        return any(other != account and asked_at >= since for other, asked_at in self._latest)


class AccountTurns:
    """Lives on the event loop. An account's own turns are first come, first served."""

    def __init__(self, at_once: int = 1, sharing: Sharing | None = None) -> None:
        """Without `sharing`, nobody rests."""
        self._free, self._sharing = at_once, sharing
        # The account whose turn is next comes first.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        # Accounts that rest, each with the end of its rest.
        self._resting: dict[str, asyncio.TimerHandle] = {}

    @asynccontextmanager
    async def turn(self, account: str) -> AsyncIterator[None]:
        await self.take(account)
        begun = monotonic()
        try:
            yield
        finally:
            self.rest(account, monotonic() - begun)
            self.end()

    def rest(self, account: str, seconds: float) -> None:
        """Call before the end of a turn that took so long. Of two rests at once, the one that ends later holds."""
        if self._sharing is None or not self._sharing.has_others(account):
            return
        loop, earlier = asyncio.get_running_loop(), self._resting.get(account)
        if earlier is not None:
            if earlier.when() >= loop.time() + seconds:
                return
            earlier.cancel()
        self._resting[account] = loop.call_later(seconds, self._wake, account)

    def _wake(self, account: str) -> None:
        del self._resting[account]
        while self._free > 0 and account in self._waiting:
            self._free -= 1
            self.end()

    async def take(self, account: str) -> None:
        if self._free > 0 and account not in self._resting:
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
        while (account := next((each for each in self._waiting if each not in self._resting), None)) is not None:
            turns = self._waiting[account]
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

    def __init__(self, name: str, threads: int = 1, sharing: Sharing | None = None) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._turns = AccountTurns(threads, sharing)

    async def run(self, account: str, work: Callable[..., T], *args: object) -> T:
        """Cancelling it gives up the place in the queue; work that has begun goes on."""
        await self._turns.take(account)
        running = asyncio.get_running_loop().run_in_executor(self._threads, work, *args)
        running.add_done_callback(partial(self._ended, account, monotonic()))
        # Without the shield, a cancelled call would give its thread to the next one while it is still busy.
        return await asyncio.shield(running)

    def _ended(self, account: str, begun: float, work: asyncio.Future[T]) -> None:
        # Reading the error here keeps asyncio from reporting it when the caller has gone.
        if not work.cancelled():
            work.exception()
        self._turns.rest(account, monotonic() - begun)
        self._turns.end()
