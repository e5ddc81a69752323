"""The one thread that runs the model. Routes hand it requests; it forms a batch of their rows and answers from it.

Where its steps are slow, as with many typed answers or adapters, an account that has no row yet gets its first few
into a second batch, the quick one, which gets twice the time that the other batch took. Few rows that an account has
in the other batch already move to it. So an account that fills the engine makes another one's answers take about half
as long again, however slow its own rows are. Prompts whose rows end with their first token take no place; reading them
takes at most half of the time from rows of others.
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
from anneal_runtime.server.decoding.pace import QUICK_SHARE, Debts, Pace
from anneal_runtime.server.decoding.rows import GenerationFailed, GenerationRequest, Row
from anneal_runtime.server.metrics import EngineMetrics

# Failed passes in a row after which the device counts as broken and the process exits to be restarted.
FAILURES_IN_A_ROW = 5


class Scheduler:
    def __init__(
        self,
        batch: RunningBatch | None,
        max_batch: int,
        metrics: EngineMetrics,
        quick: RunningBatch | None = None,
    ) -> None:
        self._batch, self._quick, self._metrics = batch, quick, metrics
        self._pace, self._debts = Pace(), Debts()
        self._admission = Admission(max_batch, self._pace, self._debts)
        # The batch took so many seconds since the quick one had its time.
        self._batch_s = 0.0
        # Batches whose step is not done, with the step's seconds so far and its tokens of a row.
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
        return [row for batch in (self._batch, self._quick) if batch for row in batch.rows]

    def _attempt(self, batch: RunningBatch | None, work: Callable[[RunningBatch], None]) -> None:
        """Fails the running requests, not the server, on an error in a forward pass."""
        if batch is None:
            return
        try:
            work(batch)
        except Exception as error:
            self._count_failure("A batch failed", error)
            self._halves.pop(batch, None)
            for request in {row.request for row in batch.clear()}:
                self._fail(request, error)

    def _count_failure(self, what: str, error: Exception) -> None:
        log(f"{what}: " + "".join(traceback.format_exception(error)))
        self._failures += 1
        if self._failures >= FAILURES_IN_A_ROW:
            raise error

    def _generate(self) -> None:
        """The quick batch goes first: its new rows would else stand still while many prompts of another are read."""
        if self._batch is None:
            return
        rows, quick = self._admission.choose(self._running), list[Row]()
        if self._batch.rows and self._quick:
            quick = self._admission.choose_quick(rows, self._batch.rows, self._quick.rows)
            self._attempt(self._quick, self._move_stuck)
        self._attempt(self._quick, lambda batch: self._read(batch, quick))
        self._attempt(self._quick, self._decode_quick)
        self._attempt(self._batch, lambda batch: self._read(batch, [row for row in rows if row not in quick]))
        self._attempt(self._batch, self._decode)

    def _move_stuck(self, quick: RunningBatch) -> None:
        """Rows that began before the steps were slow are not to end with them."""
        assert self._batch is not None
        stuck = self._admission.choose_stuck(self._batch.rows, quick.rows)
        if stuck and self._batch not in self._halves:
            with self._failing(stuck):
                quick.join(self._batch.take(stuck))

    @contextmanager
    def _failing(self, rows: list[Row]) -> Iterator[None]:
        """An error fails these rows, which may then be in no batch and no line."""
        try:
            yield
        except Exception as error:
            for row in rows:
                self._fail(row.request, error)
            raise

    def _read(self, batch: RunningBatch, rows: list[Row]) -> None:
        if not rows:
            return
        started, tokens = monotonic(), max(row.read_length for row in rows) * len(rows)
        try:
            with self._failing(rows):
                joining, failures = batch.read(rows, self._pace.most_grammar_s)
        except Exception as error:
            # The running rows are untouched and go on.
            self._count_failure("Prompts could not be read", error)
            return
        with self._failing(rows):
            batch.join(joining)
        seconds = monotonic() - started
        self._pace.count_read(seconds, tokens)
        if batch is self._batch:
            self._batch_s += seconds
        # Rows that take a place are bounded by the places.
        ended = [row for row in rows if row.answer is not None]
        self._debts.owe({row.request.account for row in ended}, seconds * len(ended) / len(rows))
        self._settle(batch, failures, rows)

    def _decode(self, batch: RunningBatch) -> None:
        self._batch_s += self._step(batch)

    def _decode_quick(self, batch: RunningBatch) -> None:
        """As many steps as fit into twice the time that the other batch took."""
        until, self._batch_s = monotonic() + QUICK_SHARE * self._batch_s, 0.0
        while batch.rows:
            self._step(batch)
            if monotonic() >= until or not (self._batch and self._batch.rows):
                break

    def _step(self, batch: RunningBatch) -> float:
        """One more token for every row, or several, or a part of this work. Returns the seconds."""
        batch.drop([row.request.cancelled for row in batch.rows])
        rows, count, started = list(batch.rows), len(batch.rows), monotonic()
        cached = sum(row.cached for row in rows)
        if count == 0:
            self._halves.pop(batch, None)
            return 0.0
        is_few = count <= self._admission.few
        failures = batch.step(None if is_few else self._pace.most_columns(count), self._pace.most_grammar_s)
        if failures is not None:
            self._metrics.batch_rows.observe(count)
            self._settle(batch, failures, batch.rows)
        seconds, fed = monotonic() - started, (sum(row.cached for row in rows) - cached) / count
        self._debts.pay(seconds)
        before_s, tokens = self._halves.pop(batch, (0.0, fed))
        if failures is None:
            self._halves[batch] = before_s + seconds, tokens
            if batch is self._batch:
                self._pace.count_part(before_s + seconds)
            return seconds
        if is_few:
            self._pace.count_few_rows_step(before_s + seconds, tokens)
        if batch is self._batch:
            self._pace.count_step(before_s + seconds, tokens)
        return seconds

    def _settle(self, batch: RunningBatch, failures: list[RowFailed], stepped: list[Row]) -> None:
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
        batch.drop([row in done or row.request.cancelled for row in batch.rows])

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
