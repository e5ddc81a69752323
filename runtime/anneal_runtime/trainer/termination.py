"""SIGTERM: at once where nothing would be lost, at the next step edge while training, after a moment while saving."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from anneal_runtime import exit_codes
from anneal_runtime.log import exit_now

# How long bytes may take to reach storage after SIGTERM; below the 30 s that pods get.
GRACE_S = 25.0


class Termination:
    def __init__(self) -> None:
        self.requested = False
        self._deferred = False
        self._grace_s: float | None = None

    def install(self) -> None:
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, self._on_signal)

    @contextmanager
    def deferred(self, grace_s: float | None = None) -> Iterator[None]:
        """Inside, the signal only sets `requested`; with a grace period the process ends when that has passed."""
        self._deferred, self._grace_s = True, grace_s
        try:
            yield
        finally:
            self._deferred = False

    def exit_if_requested(self) -> None:
        if self.requested:
            exit_now(exit_codes.TERMINATED)

    def _on_signal(self, _signal: int, _frame: FrameType | None) -> None:
        # No logging here: the interrupted code may hold stdout's lock.
        self.requested = True
        if not self._deferred:
            os._exit(exit_codes.TERMINATED)
        if self._grace_s is not None:
            timer = threading.Timer(self._grace_s, os._exit, [exit_codes.TERMINATED])
            timer.daemon = True
            timer.start()
