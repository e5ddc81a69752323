"""The one thread that runs the model. Routes hand it requests; it forms batches fairly and answers from them.

Rows are admitted in turns between requests, and a request that has no running row may go beyond the batch's size by
a few rows: a request of ten thousand prompts delays a single one by a step or two, not by its own length.
"""

from __future__ import annotations

import threading
import traceback
from collections import deque
from collections.abc import Callable
from time import monotonic

import torch

from anneal_runtime.log import log
from anneal_runtime.server.decoding.batch import RowFailed, RunningBatch
from anneal_runtime.server.decoding.encoding import EncodeRequest
from anneal_runtime.server.decoding.rows import GenerationFailed, GenerationRequest, Row
from anneal_runtime.server.metrics import EngineMetrics

# Prompt tokens, padding included, read between two decoding steps; one row may exceed it.
PREFILL_TOKENS = 4096
# Failed passes in a row after which the device counts as broken and the process exits to be restarted.
FAILURES_IN_A_ROW = 5


class Scheduler:
    def __init__(self, batch: RunningBatch | None, max_batch: int, metrics: EngineMetrics) -> None:
        self._batch, self._max_batch, self._metrics = batch, max_batch, metrics
        self._inbox: deque[GenerationRequest | EncodeRequest] = deque()
        self._wake = threading.Event()
        self._waiting: deque[GenerationRequest] = deque()
        self._encoding: deque[EncodeRequest] = deque()
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
            self._attempt(self._admit)
            self._attempt(self._decode)
            self._encode()
            self._show()

    def _receive(self) -> None:
        busy = self._waiting or self._encoding or (self._batch and self._batch.rows)
        if not busy:
            self.is_busy = False
            self._wake.wait()
        self._wake.clear()
        while self._inbox:
            request = self._inbox.popleft()
            if isinstance(request, EncodeRequest):
                self._encoding.append(request)
            else:
                self._waiting.append(request)

    def _attempt(self, work: Callable[[RunningBatch], None]) -> None:
        """Fails the running requests, not the server, on an error in a forward pass."""
        if self._batch is None:
            return
        try:
            work(self._batch)
        except Exception as error:
            self._count_failure("A batch failed", error)
            for request in {row.request for row in self._batch.clear()}:
                self._fail(request, error)

    def _count_failure(self, what: str, error: Exception) -> None:
        log(f"{what}: " + "".join(traceback.format_exception(error)))
        self._failures += 1
        if self._failures >= FAILURES_IN_A_ROW:
            raise error

    def _admit(self, batch: RunningBatch) -> None:
        rows = self._choose(len(batch.rows))
        if not rows:
            return
        try:
            joining, failures = batch.read(rows)
        except Exception as error:
            # The running rows are untouched and go on.
            for row in rows:
                self._fail(row.request, error)
            self._count_failure("Prompts could not be read", error)
            return
        try:
            batch.join(joining)
        except Exception as error:
            # These rows are neither in the batch nor in the queue, so fail them here.
            for row in rows:
                self._fail(row.request, error)
            raise
        self._settle(batch, failures, rows)

    def _decode(self, batch: RunningBatch) -> None:
        batch.drop([row.request.cancelled for row in batch.rows])
        if batch.rows:
            self._metrics.batch_rows.observe(len(batch.rows))
            self._settle(batch, batch.step(), batch.rows)

    def _choose(self, running: int) -> list[Row]:
        """The next rows to admit, one of each waiting request in turn."""
        self._waiting = deque(request for request in self._waiting if not request.cancelled)
        newcomers = any(request.running == 0 for request in self._waiting)
        free = self._max_batch - running
        # Joining costs an extra pass, so wait for several free places unless a request has no running row.
        if not newcomers and free < max(1, self._max_batch // 8):
            return []
        chosen: list[Row] = []
        width, skipped = 0, 0
        while self._waiting and skipped < len(self._waiting):
            request = self._waiting.popleft()
            reserve = max(1, self._max_batch // 8) if request.running == 0 else 0
            if len(chosen) >= free + reserve:
                self._waiting.append(request)
                skipped += 1
                continue
            width = max(width, len(request.queued[-1].prompt))
            if chosen and width * (len(chosen) + 1) > PREFILL_TOKENS:
                self._waiting.appendleft(request)
                break
            chosen.append(request.queued.pop())
            request.running += 1
            skipped = 0
            if request.queued:
                self._waiting.append(request)
        return chosen

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
        batch.drop([row.answer is not None or row.request.cancelled for row in batch.rows])

    def _finish(self, row: Row) -> None:
        request, answer = row.request, row.answer
        assert answer is not None
        request.running -= 1
        request.finished += 1
        self._metrics.generated_tokens.inc(answer.token_count)
        if request.finished == len(request.rows) and not request.cancelled:
            request.on_done([other.answer for other in request.rows if other.answer is not None])

    def _fail(self, request: GenerationRequest, error: Exception) -> None:
        if not request.cancelled:
            request.cancelled = True
            request.on_done(error)

    def _encode(self) -> None:
        """One batch of one request, then the next request's turn."""
        if not self._encoding:
            return
        request = self._encoding.popleft()
        if request.cancelled:
            return
        try:
            done = request.encode_next_batch()
        except GenerationFailed as error:
            request.on_done(error)
            return
        except Exception as error:
            request.on_done(error)
            self._count_failure("An embedding failed", error)
            return
        self._failures = 0
        if done:
            request.on_done(None)
        else:
            self._encoding.append(request)

    def _show(self) -> None:
        self._metrics.running_rows.set(len(self._batch.rows) if self._batch else 0)
        self._metrics.waiting_rows.set(sum(len(request.queued) for request in self._waiting))
