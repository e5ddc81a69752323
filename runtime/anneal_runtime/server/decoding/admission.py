"""Which waiting prompts are read next: accounts take turns.

The next row belongs to the account with the fewest rows in the lanes. An account's small and large requests share its
rows in the same way, and each kind is first come, first served: large requests that took turns would end together and
leave the main lane half empty. Small requests may exceed the batch's size by `light_rows`, an account that has no row
by twice as many. So a request of ten thousand prompts delays a single prompt by a step or two, not by its own length.
A row of each further account takes no place from the others, so single prompts cost the large request only their own
time.

An account is light while it has at most `light_rows` rows in the main lane, and heavy above that.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable
from time import monotonic
from typing import NamedTuple

from anneal_runtime.server.decoding.pace import Deficits, Pace
from anneal_runtime.server.decoding.rows import GenerationRequest, Row


def light_rows(max_batch: int) -> int:
    """The most rows of a light account, and of a small request."""
    return max(1, max_batch // 8)


def most_rows(max_batch: int) -> int:
    """`max_batch`, `light_rows` for further accounts, and those by which an account without rows may exceed these."""
    return max_batch + 3 * light_rows(max_batch)


class Flow(NamedTuple):
    """The small or the large requests of an account."""

    account: str
    is_large: bool


class Admission:
    def __init__(self, max_batch: int, pace: Pace, deficits: Deficits) -> None:
        self._max_batch, self._pace, self._deficits = max_batch, pace, deficits
        self.light_rows = light_rows(max_batch)
        self._waiting: dict[Flow, deque[GenerationRequest]] = {}

    @property
    def has_requests(self) -> bool:
        return bool(self._waiting)

    @property
    def waiting_rows(self) -> int:
        return sum(len(request.queued) for requests in self._waiting.values() for request in requests)

    def add(self, request: GenerationRequest) -> None:
        self._waiting.setdefault(self._flow_of(request), deque()).append(request)

    def _flow_of(self, request: GenerationRequest) -> Flow:
        return Flow(request.account, len(request.rows) > self.light_rows)

    def choose(self, running: list[Row]) -> list[Row]:
        """The next rows to read, in turns."""
        self._drop_cancelled()
        rows_of = Counter(row.request.account for row in running)
        # A row of each further account takes no place, so that single prompts of others leave a large request its rows.
        free = self._max_batch - len(running) + min(self.light_rows, max(0, len(rows_of) - 1))
        # Joining costs an extra pass, so large requests wait for several free places.
        if free < self.light_rows and all(is_large and rows_of[account] > 0 for account, is_large in self._waiting):
            return []
        rows_in = Counter(self._flow_of(row.request) for row in running)
        chosen: list[Row] = []
        width = 0
        self._pace.count_accounts(len({*rows_of, *(account for account, _ in self._waiting)}), monotonic())
        while (flow := self._next(rows_of, rows_in, free - len(chosen))) is not None:
            request = self._waiting[flow][0]
            width = max(width, request.queued[-1].read_length)
            if chosen and width * (len(chosen) + 1) > self._pace.most_tokens:
                break
            chosen.append(request.queued.pop())
            rows_of[request.account] += 1
            rows_in[flow] += 1
            if not request.queued:
                self._waiting[flow].popleft()
                if not self._waiting[flow]:
                    del self._waiting[flow]
        return chosen

    def choose_light(self, rows: list[Row], main: Collection[Row], light: Iterable[Row]) -> list[Row]:
        """Those of the rows that join the light lane: the first rows of each account that has none in the main lane.

        The light lane gets no more of them than the main lane has rows. Else many rows of one account would be in the
        light lane beside one row of another.
        """
        most = min(self.light_rows, len(main))
        main_accounts = {row.request.account for row in main}
        counts = Counter(row.request.account for row in light)
        chosen = []
        for row in rows:
            account = row.request.account
            if account not in main_accounts and counts[account] < most and self._is_congested_for(row):
                counts[account] += 1
                chosen.append(row)
        return chosen

    def choose_leaving(self, main: Collection[Row], light: Collection[Row]) -> list[Row]:
        """Rows that move from the main lane to the light one: those of light accounts beside heavy ones.

        As in choose_light, the light lane gets no more rows than the heavy accounts have in the main lane.
        """
        counts, most = Counter(row.request.account for row in main), self.light_rows
        room = sum(count for count in counts.values() if count > most) - len(light)
        leaving = [row for row in main if counts[row.request.account] <= most and self._is_congested_for(row)]
        return leaving[: max(0, room)]

    def _is_congested_for(self, row: Row) -> bool:
        return self._pace.is_congested(is_typed=row.request.grammar is not None)

    def _next(self, rows_of: Counter[str], rows_in: Counter[Flow], free: int) -> Flow | None:
        """The flow whose turn it is among those that may have a place."""
        # Rows that end with the read are in no lane, so an account with only such rows would always be the first.
        deficits = self._deficits
        turns = {flow: (rows_of[flow.account], deficits.of(flow.account), rows_in[flow]) for flow in self._waiting}
        for flow in sorted(turns, key=turns.__getitem__):
            if deficits.must_wait(flow.account, rows_of):
                continue
            extra = 2 * self.light_rows if rows_of[flow.account] == 0 else 0 if flow.is_large else self.light_rows
            if free + extra > 0:
                return flow
        return None

    def _drop_cancelled(self) -> None:
        for flow, requests in list(self._waiting.items()):
            left = deque(request for request in requests if not request.cancelled)
            if left:
                self._waiting[flow] = left
            else:
                del self._waiting[flow]
