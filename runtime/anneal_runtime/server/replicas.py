"""Several servers of one model on one machine: started together, started again one by one, ended together.

What a Deployment does on a cluster. The group ends by itself only when no replica of it can live.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from time import monotonic
from types import FrameType

from anneal_runtime import exit_codes
from anneal_runtime.internal_api import InternalApi
from anneal_runtime.log import log
from anneal_runtime.settings import ServerSettings, replica_environment

PROGRAM = (sys.executable, "-m", "anneal_runtime.server")
# After these codes another start ends the same way, for every replica.
LASTING = (exit_codes.MODEL_UNAVAILABLE, exit_codes.FENCED, exit_codes.UNSUPPORTED_RUNTIME)
FAILURES_ALLOWED = 5
# A replica that lived this long had started well.
GOOD_RUN_S = 60.0
LONGEST_BACK_OFF_S = 60.0


@dataclass
class Replica:
    instance: str
    environment: dict[str, str]
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_at: float = 0.0
    failures: int = 0


class ReplicaGroup:
    def __init__(self, settings: ServerSettings, program: Sequence[str] = PROGRAM) -> None:
        self._program = program
        self._api = InternalApi(settings.internal_url, settings.token)
        environments = [replica_environment(settings, index) for index in range(settings.replicas)]
        self._replicas = [Replica(each["ANNEAL_INSTANCE"], each) for each in environments]
        # A replica with its exit code, or None when the group must end.
        self._events: SimpleQueue[tuple[Replica, int] | None] = SimpleQueue()
        self._exit_code: int | None = None

    def run(self) -> int:
        """Serves until told to end. The exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        while self._exit_code is None or any(replica.process for replica in self._replicas):
            self._start_due()
            try:
                event = self._events.get(timeout=self._next_start_in_s())
            except Empty:
                continue
            if event is None:
                self._end(exit_codes.TERMINATED)
            else:
                self._on_end(*event)
        return self._exit_code

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._events.put(None)

    def _end(self, code: int) -> None:
        if self._exit_code is None:
            self._exit_code = code
        for replica in self._replicas:
            if replica.process is not None:
                replica.process.terminate()

    def _start_due(self) -> None:
        for replica in self._replicas:
            if self._exit_code is None and replica.process is None and replica.start_at <= monotonic():
                replica.started_at = monotonic()
                replica.process = subprocess.Popen(self._program, env=replica.environment)
                threading.Thread(target=self._await_end, args=(replica, replica.process), daemon=True).start()

    def _next_start_in_s(self) -> float | None:
        waiting = [replica.start_at for replica in self._replicas if replica.process is None]
        return max(0.0, min(waiting) - monotonic()) if waiting and self._exit_code is None else None

    def _await_end(self, replica: Replica, process: subprocess.Popen[bytes]) -> None:
        code = process.wait()
        self._events.put((replica, 128 - code if code < 0 else code))

    def _on_end(self, replica: Replica, code: int) -> None:
        replica.process = None
        if self._exit_code is not None:
            return
        replica.failures = 1 if monotonic() - replica.started_at >= GOOD_RUN_S else replica.failures + 1
        if code in LASTING or all(each.failures >= FAILURES_ALLOWED for each in self._replicas):
            log(f"Replica {replica.instance} ended with exit code {code}; stopping the other replicas.")
            self._end(code)
            return
        back_off_s = min(2.0 ** (replica.failures - 1), LONGEST_BACK_OFF_S)
        log(f"Replica {replica.instance} ended with exit code {code}; restarting it in {back_off_s:.0f} s.")
        replica.start_at = monotonic() + back_off_s
        threading.Thread(target=self._api.report_leaving, args=(replica.instance,), daemon=True).start()
