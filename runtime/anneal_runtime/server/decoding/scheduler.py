"""The one thread that runs the model. Routes hand it requests; it forms batches of their rows and answers from them.

The rows run in two lanes, each a batch with steps of its own. Where the main lane is congested, as with many typed
answers or adapters, the first rows of an account that has none yet join the light lane, which gets twice the time that
the main lane took. The rows that a light account already has in the main lane move over. So a heavy account makes
another one's answers take about half as long again, however long its own steps are. Prompts whose rows end with their
first token take no place; reading them takes at most half of the time from rows of others.
"""

from __future__ import annotations

import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

import torch

from anneal_runtime.log import log
from anneal_runtime.server.decoding.admission import Admission
from anneal_runtime.server.decoding.batch import RowFailed, RunningBatch
from anneal_runtime.server.decoding.encoding import EncodeRequest
from anneal_runtime.server.decoding.pace import LIGHT_SHARE, Deficits, Pace
from anneal_runtime.server.decoding.rows import GenerationFailed, GenerationRequest, Row
from anneal_runtime.server.metrics import EngineMetrics

# Failed passes in a row after which the device counts as broken and the process exits to be restarted.
FAILURES_IN_A_ROW = 5


class Scheduler:
    def __init__(
        self,
        main: RunningBatch | None,
        max_batch: int,
        metrics: EngineMetrics,
        light: RunningBatch | None = None,
    ) -> None:
        self._main, self._light, self._metrics = main, light, metrics
        self._pace, self._deficits = Pace(), Deficits()
        self._admission = Admission(max_batch, self._pace, self._deficits)
        # Seconds that the main lane took since the light lane had its time.
        self._main_s = 0.0
        # Lanes whose step is not done, with the step's seconds so far and its tokens of a row.
        self._halves: dict[RunningBatch, tuple[float, float]] = {}
        self._inbox: deque[GenerationRequest | EncodeRequest] = deque()
        self._wake = threading.Event()
        # The account whose turn is next comes first.
        self._encoding: dict[str, deque[EncodeRequest]] = {}
        self._failures = 0
        # Read by the watchdog: the number of the current turn, and whether it has work.
        self.turn, self.is_busy = 0, False

    def submit(self, request: GenerationRequest | EncodeRequest) -> None:
        """From any thread."""
        self._inbox.append(request)
        self._wake.set()

    def cancel(self, request: GenerationRequest | EncodeRequest) -> None:
        """Call from any thread. The request's rows stop at the next step, without a callback."""
        request.cancelled = True
        self._wake.set()

    @torch.inference_mode()
    def run_forever(self) -> None:
        while True:
            self._receive()
            self.turn, self.is_busy = self.turn + 1, True
            self._generate()
            self._encode()
            self._show()

    def _receive(self) -> None:
        busy = self._admission.has_requests or self._encoding or self._running
        if not busy:
            self.is_busy = False
            self._wake.wait()
        self._wake.clear()
        while self._inbox:
            request = self._inbox.popleft()
            if isinstance(request, EncodeRequest):
                self._encoding.setdefault(request.account, deque()).append(request)
            else:
                self._admission.add(request)

    @property
    def _running(self) -> list[Row]:
        return [row for lane in (self._main, self._light) if lane for row in lane.rows]

    def _attempt(self, lane: RunningBatch | None, work: Callable[[RunningBatch], None]) -> None:
        """Fails the running requests, not the server, on an error in a forward pass."""
        if lane is None:
            return
        try:
            work(lane)
        except Exception as error:
            self._count_failure("A batch failed", error)
            self._halves.pop(lane, None)
            for request in {row.request for row in lane.clear()}:
                self._fail(request, error)

    def _count_failure(self, what: str, error: Exception) -> None:
        log(f"{what}: " + "".join(traceback.format_exception(error)))
        self._failures += 1
        if self._failures >= FAILURES_IN_A_ROW:
            raise error

    def _generate(self) -> None:
        """The light lane goes first: else its new rows would stand still while many prompts of others are read."""
        if self._main is None:
            return
        rows, light = self._admission.choose(self._running), list[Row]()
        if self._main.rows and self._light:
            light = self._admission.choose_light(rows, self._main.rows, self._light.rows)
            self._attempt(self._light, self._move_to_light)
        self._attempt(self._light, lambda lane: self._read(lane, light))
        self._attempt(self._light, self._decode_light)
        self._attempt(self._main, lambda lane: self._read(lane, [row for row in rows if row not in light]))
        self._attempt(self._main, self._decode_main)

    def _move_to_light(self, light: RunningBatch) -> None:
        """Moves rows of light accounts that began before the main lane was congested."""
        assert self._main is not None
        leaving = self._admission.choose_leaving(self._main.rows, light.rows)
        if leaving and self._main not in self._halves:
            with self._failing(leaving):
                light.join(self._main.take(leaving))

    @contextmanager
    def _failing(self, rows: list[Row]) -> Iterator[None]:
        """An error fails these rows, which may then be in no lane and no queue."""
        try:
            yield
        except Exception as error:
            for row in rows:
                self._fail(row.request, error)
            raise

    def _read(self, lane: RunningBatch, rows: list[Row]) -> None:
        if not rows:
            return
        started, tokens = monotonic(), max(row.read_length for row in rows) * len(rows)
        try:
            with self._failing(rows):
                joining, failures = lane.read(rows, self._pace.most_grammar_s)
        except Exception as error:
            # The running rows are untouched and go on.
            self._count_failure("Prompts could not be read", error)
            return
        with self._failing(rows):
            lane.join(joining)
        seconds = monotonic() - started
        self._pace.count_read(seconds, tokens)
        if lane is self._main:
            self._main_s += seconds
        # Rows that take a place are bounded by the places.
        ended = [row for row in rows if row.answer is not None]
        self._deficits.charge({row.request.account for row in ended}, seconds * len(ended) / len(rows))
        self._settle(lane, failures, rows)

    def _decode_main(self, lane: RunningBatch) -> None:
        self._main_s += self._step(lane)

    def _decode_light(self, lane: RunningBatch) -> None:
        """As many steps as fit into twice the time that the main lane took."""
        until, self._main_s = monotonic() + LIGHT_SHARE * self._main_s, 0.0
        while lane.rows:
            self._step(lane)
            if monotonic() >= until or not (self._main and self._main.rows):
                break

    def _step(self, lane: RunningBatch) -> float:
        """One more token for every row, or several, or a part of this work. Returns the seconds."""
        lane.drop([row.request.cancelled for row in lane.rows])
        rows, count, started = list(lane.rows), len(lane.rows), monotonic()
        cached = sum(row.cached for row in rows)
        if count == 0:
            self._halves.pop(lane, None)
            return 0.0
        is_light = count <= self._admission.light_rows
        failures = lane.step(None if is_light else self._pace.most_columns(count), self._pace.most_grammar_s)
        if failures is not None:
            self._metrics.batch_rows.observe(count)
            self._settle(lane, failures, lane.rows)
        seconds, fed = monotonic() - started, (sum(row.cached for row in rows) - cached) / count
        self._deficits.reduce(seconds)
        before_s, tokens = self._halves.pop(lane, (0.0, fed))
        if failures is None:
            self._halves[lane] = before_s + seconds, tokens
            if lane is self._main:
                self._pace.count_part(before_s + seconds)
            return seconds
        if is_light:
            self._pace.count_light_step(before_s + seconds, tokens)
        if lane is self._main:
            self._pace.count_step(before_s + seconds, tokens)
        return seconds

    def _settle(self, lane: RunningBatch, failures: list[RowFailed], stepped: list[Row]) -> None:
        now, self._failures = monotonic(), 0
        for failure in failures:
            self._fail(failure.row.request, failure.cause)
        for row in stepped:
            if row.request.first_token_at is None:
                row.request.first_token_at = now
                self._metrics.first_token_s.observe(now - row.request.accepted_at)
            row.show()
            if row.answer is not None:
                self._finish(row)
        # A row may have its answer from a part of a step. It is finished when the whole step is done.
        done = {row for row in stepped if row.answer is not None}
        lane.drop([row in done or row.request.cancelled for row in lane.rows])

    def _finish(self, row: Row) -> None:
        request, answer = row.request, row.answer
        assert answer is not None
        request.finished += 1
        self._metrics.generated_tokens.inc(answer.token_count)
        if request.finished == len(request.rows) and not request.cancelled:
            request.on_done([other.answer for other in request.rows if other.answer is not None])

    def _fail(self, request: GenerationRequest, error: Exception) -> None:
        if not request.cancelled:
            request.cancelled = True
            request.on_done(error)

    def _encode(self) -> None:
        """One batch of one request, then the turn of the next account, and in this one of the next request."""
        if not self._encoding:
            return
        account, requests = next(iter(self._encoding.items()))
        request = requests.popleft()
        if not request.cancelled and self._encode_batch(request):
            requests.append(request)
        del self._encoding[account]
        if requests:
            self._encoding[account] = requests

    def _encode_batch(self, request: EncodeRequest) -> bool:
        """True if more batches are left."""
        try:
            done = request.encode_next_batch()
        except GenerationFailed as error:
            request.on_done(error)
            return False
        except Exception as error:
            request.on_done(error)
            self._count_failure("An embedding failed", error)
            return False
        self._failures = 0
        if done:
            request.on_done(None)
        return not done

    def _show(self) -> None:
        self._metrics.running_rows.set(len(self._running))
        self._metrics.waiting_rows.set(self._admission.waiting_rows)
