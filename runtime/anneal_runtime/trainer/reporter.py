"""Reports to the API in order, from a background thread: an API that is away delays reports, never training."""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from anneal_runtime import exit_codes
from anneal_runtime.internal_api import Fenced, InternalApi
from anneal_runtime.log import exit_now, log

LARGEST_CALL = 1000
# Reports of these kinds have a call each.
ALONE = ("phase", "row counts")


@dataclass(frozen=True)
class _Report:
    kind: str
    content: Any


class Reporter:
    def __init__(self, api: InternalApi) -> None:
        self._api = api
        self._reports: deque[_Report] = deque()
        self._changed = threading.Condition()
        self._failure: Exception | None = None
        threading.Thread(target=self._deliver_forever, name="reporter", daemon=True).start()

    def phase(self, phase: str) -> None:
        log(phase.capitalize())
        self._add(_Report("phase", phase))

    def step(self, row: dict[str, Any]) -> None:
        self._add(_Report("step", row))

    def note(self, code: str, message: str) -> None:
        log(message)
        self._add(_Report("note", {"code": code, "message": message}))

    def row_counts(self, counts: dict[str, int | bool]) -> None:
        self._add(_Report("row counts", counts))

    def flush(self, timeout_s: float | None = None) -> bool:
        """Waits until every report is delivered; False on timeout. Raises the API's refusal."""
        with self._changed:
            delivered = self._changed.wait_for(lambda: not self._reports or self._failure is not None, timeout_s)
        self.raise_failure()
        return delivered

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _add(self, report: _Report) -> None:
        with self._changed:
            self._reports.append(report)
            self._changed.notify_all()

    def _deliver_forever(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: len(self._reports) > 0)
                batch = self._first_of_a_kind()
            try:
                self._deliver(batch)
            except Fenced as error:
                log(f"Fenced: {error}")
                exit_now(exit_codes.FENCED)
            except Exception as error:  # handed to the main thread, which ends the run with it
                self._fail(error)
                return
            with self._changed:
                for _ in batch:
                    self._reports.popleft()
                self._changed.notify_all()

    def _first_of_a_kind(self) -> list[_Report]:
        kind = self._reports[0].kind
        batch: list[_Report] = []
        for report in self._reports:
            if report.kind != kind or len(batch) == (1 if kind in ALONE else LARGEST_CALL):
                break
            batch.append(report)
        return batch

    def _deliver(self, batch: list[_Report]) -> None:
        contents = [report.content for report in batch]
        match batch[0].kind:
            case "phase":
                self._api.report_phase(contents[0])
            case "step":
                self._api.report_steps(contents)
            case "row counts":
                self._api.report_row_counts(contents[0])
            case _:
                self._api.report_notes(contents)

    def _fail(self, error: Exception) -> None:
        with self._changed:
            self._failure = error
            self._changed.notify_all()


class ProgressClock:
    """Seconds per step, smoothed, for the time that remains. Kept in checkpoints, so that a resume starts informed.

    The first reading of a program holds the slow first step. It is the rate only while nothing better is known.
    """

    WEIGHT_OF_NEW = 0.3

    def __init__(self, seconds_per_step: float | None = None) -> None:
        self.seconds_per_step = seconds_per_step
        self.tokens_per_second = 0.0
        # Length of the newest `aside`.
        self.seconds_aside = 0.0
        self._since = time.perf_counter()
        self._steps = self._tokens = 0
        self._readings = 0
        self._began_informed = seconds_per_step is not None

    def step_done(self, token_count: int) -> None:
        self._steps += 1
        self._tokens += token_count

    @contextmanager
    def aside(self) -> Iterator[None]:
        """The time inside counts for no step."""
        since = time.perf_counter()
        yield
        self.seconds_aside = time.perf_counter() - since
        self._since += self.seconds_aside

    @property
    def seconds_unread(self) -> float:
        return time.perf_counter() - self._since

    def read(self) -> float:
        """Mean seconds of the steps since the last reading."""
        now = time.perf_counter()
        elapsed = now - self._since
        latest = elapsed / max(self._steps, 1)
        self.tokens_per_second = self._tokens / elapsed if elapsed > 0 else 0.0
        self._since, self._steps, self._tokens = now, 0, 0
        self._readings += 1
        old = self.seconds_per_step
        if old is None or (self._readings == 2 and not self._began_informed):
            self.seconds_per_step = latest
        elif self._readings > 1:
            self.seconds_per_step = old + self.WEIGHT_OF_NEW * (latest - old)
        return latest
