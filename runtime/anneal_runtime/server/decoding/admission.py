"""Which waiting prompts are read next: accounts take turns.

The next row is one of the account that has the fewest rows in the batch. An account's small and large requests share
its rows in the same way, and each kind is first come, first served: large requests that took turns would end together
and leave the batch half empty. Small requests may go beyond the batch's size by a few rows, an account that has no row
by a few more. So a request of ten thousand prompts delays a single one by a step or two, not by its own length. A row
of each further account takes no place from the others, so single prompts cost the large request only their own time.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable
from time import monotonic
from typing import NamedTuple

from anneal_runtime.server.decoding.pace import Debts, Pace
from anneal_runtime.server.decoding.rows import GenerationRequest, Row


def few_rows(max_batch: int) -> int:
    """So many count as few."""
    return max(1, max_batch // 8)


def most_rows(max_batch: int) -> int:
    """`max_batch`, few more for further accounts, and those by which a new account may go beyond."""
    return max_batch + 3 * few_rows(max_batch)


class Line(NamedTuple):
    account: str
    is_large: bool


class Admission:
    def __init__(self, max_batch: int, pace: Pace, debts: Debts) -> None:
        self._max_batch, self._pace, self._debts = max_batch, pace, debts
        self.few = few_rows(max_batch)
        self._waiting: dict[Line, deque[GenerationRequest]] = {}

    @property
    def has_requests(self) -> bool:
        return bool(self._waiting)

    @property
    def waiting_rows(self) -> int:
        return sum(len(request.queued) for requests in self._waiting.values() for request in requests)

    def add(self, request: GenerationRequest) -> None:
        self._waiting.setdefault(self._line_of(request), deque()).append(request)

    def _line_of(self, request: GenerationRequest) -> Line:
        return Line(request.account, len(request.rows) > self.few)

    def choose(self, running: list[Row]) -> list[Row]:
        """The next rows to read, in turns."""
        self._drop_cancelled()
        rows_of = Counter(row.request.account for row in running)
        few = self.few
        # A row of each further account takes no place, so that single prompts of others leave a large request its rows.
        free = self._max_batch - len(running) + min(few, max(0, len(rows_of) - 1))
        # Joining costs an extra pass, so large requests wait for several free places.
        if free < few and all(is_large and rows_of[account] > 0 for account, is_large in self._waiting):
            return []
        rows_in = Counter(self._line_of(row.request) for row in running)
        chosen: list[Row] = []
        width = 0
        self._pace.count_accounts(len({*rows_of, *(account for account, _ in self._waiting)}), monotonic())
        while (line := self._next(rows_of, rows_in, free - len(chosen))) is not None:
            request = self._waiting[line][0]
            width = max(width, request.queued[-1].read_length)
            if chosen and width * (len(chosen) + 1) > self._pace.most_tokens:
                break
            chosen.append(request.queued.pop())
            rows_of[request.account] += 1
            rows_in[line] += 1
            if not request.queued:
                self._waiting[line].popleft()
                if not self._waiting[line]:
                    del self._waiting[line]
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
            account = row.request.account
            if account not in slow_accounts and counts[account] < few and self._is_slow_for(row):
                counts[account] += 1
                chosen.append(row)
        return chosen

    def choose_stuck(self, slow: Collection[Row], quick: Collection[Row]) -> list[Row]:
        """Slow rows that need not stay: those of accounts with few rows, beside accounts that have made the steps slow.

        As in choose_quick, there are no more quick rows than those accounts have slow ones.
        """
        counts = Counter(row.request.account for row in slow)
        room = sum(count for count in counts.values() if count > self.few) - len(quick)
        stuck = [row for row in slow if counts[row.request.account] <= self.few and self._is_slow_for(row)]
        return stuck[: max(0, room)]

    def _is_slow_for(self, row: Row) -> bool:
        return self._pace.is_slow(is_typed=row.request.grammar is not None)

    def _next(self, rows_of: Counter[str], rows_in: Counter[Line], free: int) -> Line | None:
        """The line whose turn it is among those that may have a place."""
        # Rows that end with the read are in no batch, so an account with only such rows would always be the first.
        turns = {line: (rows_of[line.account], self._debts.of(line.account), rows_in[line]) for line in self._waiting}
        for line in sorted(turns, key=turns.__getitem__):
            if self._debts.must_wait(line.account, rows_of):
                continue
            beyond = 2 * self.few if rows_of[line.account] == 0 else 0 if line.is_large else self.few
            if free + beyond > 0:
                return line
        return None

    def _drop_cancelled(self) -> None:
        for line, requests in list(self._waiting.items()):
            left = deque(request for request in requests if not request.cancelled)
            if left:
                self._waiting[line] = left
            else:
                del self._waiting[line]
