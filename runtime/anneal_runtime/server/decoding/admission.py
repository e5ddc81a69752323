"""Which waiting prompts are read next: accounts take turns.

The next row is one of the account that has the fewest rows in the batch, and its requests take turns. A request that
has no running row may go beyond the batch's size by a few rows, an account that has none by a few more. So a request
of ten thousand prompts delays a single one by a step or two, not by its own length. A row of each further account
takes no place from the others, so single prompts cost the large request only the time of their own rows.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable
from time import monotonic

from anneal_runtime.server.decoding.pace import Debts, Pace
from anneal_runtime.server.decoding.rows import GenerationRequest, Row


class Admission:
    def __init__(self, max_batch: int, pace: Pace, debts: Debts) -> None:
        self._max_batch, self._pace, self._debts = max_batch, pace, debts
        # Rows that count as few.
        self.few = max(1, max_batch // 8)
        # By account; the requests in the order of their turns.
        self._waiting: dict[str, deque[GenerationRequest]] = {}

    @property
    def has_requests(self) -> bool:
        return bool(self._waiting)

    @property
    def waiting_rows(self) -> int:
        return sum(len(request.queued) for requests in self._waiting.values() for request in requests)

    def add(self, request: GenerationRequest) -> None:
        self._waiting.setdefault(request.account, deque()).append(request)

    def choose(self, running: list[Row]) -> list[Row]:
        """The next rows to read, in turns."""
        self._drop_cancelled()
        rows_of = Counter(row.request.account for row in running)
        few = self.few
        # A row of each further account takes no place, so that single prompts of others leave a large request its rows.
        free = self._max_batch - len(running) + min(few, max(0, len(rows_of) - 1))
        waiting = [request for requests in self._waiting.values() for request in requests]
        # Joining costs an extra pass, so wait for several free places unless a request has no running row.
        if free < few and all(request.running > 0 for request in waiting):
            return []
        chosen: list[Row] = []
        width = 0
        self._pace.count_accounts(len({*rows_of, *self._waiting}), monotonic())
        while (request := self._next(rows_of, free - len(chosen))) is not None:
            width = max(width, request.queued[-1].read_length)
            if chosen and width * (len(chosen) + 1) > self._pace.most_tokens:
                break
            chosen.append(request.queued.pop())
            request.running += 1
            rows_of[request.account] += 1
            self._end_turn(request)
        return chosen

    def choose_quick(self, rows: list[Row], slow: Collection[Row], quick: Iterable[Row]) -> list[Row]:
        """Those of the rows that need not wait for slow steps: the first few of each account that has no slow row.

        There are no more of them than slow rows. Else many rows of one account would be quick beside one of another.
        """
        few = min(self.few, len(slow))
        slow_accounts = {row.request.account for row in slow}
        counts = Counter(row.request.account for row in quick)
        chosen = []
        for row in rows:
            account, is_typed = row.request.account, row.request.grammar is not None
            if account not in slow_accounts and counts[account] < few and self._pace.is_slow(is_typed=is_typed):
                counts[account] += 1
                chosen.append(row)
        return chosen

    def _next(self, rows_of: Counter[str], free: int) -> GenerationRequest | None:
        """The request whose turn it is among those that may have a place."""
        for account in sorted(self._waiting, key=lambda account: rows_of[account]):
            if self._debts.must_wait(account, rows_of):
                continue
            for request in self._waiting[account]:
                beyond = 2 * self.few if rows_of[account] == 0 else self.few if request.running == 0 else 0
                if free + beyond > 0:
                    return request
        return None

    def _end_turn(self, request: GenerationRequest) -> None:
        requests = self._waiting[request.account]
        requests.remove(request)
        if request.queued:
            requests.append(request)
        elif not requests:
            del self._waiting[request.account]

    def _drop_cancelled(self) -> None:
        for account, requests in list(self._waiting.items()):
            left = deque(request for request in requests if not request.cancelled)
            if left:
                self._waiting[account] = left
            else:
                del self._waiting[account]
