"""The processes of one node: the first forks the others, one a GPU, and they end with it.

Not torchrun: it stands between the pod and its program, and answers with exit codes and signals of its own where
Anneal reads ours.
"""

import os
import signal
import threading
import time
from dataclasses import replace

from anneal_runtime import exit_codes
from anneal_runtime.log import exit_now
from anneal_runtime.settings import TrainerSettings

END_TIMEOUT_S = 10.0


class LocalProcesses:
    """The processes that this one has forked; a forked process has none."""

    def __init__(self) -> None:
        self._running: set[int] = set()
        # Exit codes, in the order of the ends.
        self._codes: list[int] = []

    def add(self, pid: int) -> None:
        self._running.add(pid)

    def failure(self) -> int | None:
        """Exit code of the first process that failed for a reason other than a lost peer; None if there is none."""
        self._reap()
        return next((code for code in self._codes if code not in (exit_codes.FINISHED, exit_codes.PEER_LOST)), None)

    def code_after(self, code: int) -> int:
        """This node's exit code if this process ends with `code`: the cause says more than a lost peer."""
        if code != exit_codes.PEER_LOST:
            return code
        self.wait()
        return self.failure() or code

    def wait(self) -> None:
        """Until all have ended; those that hang are killed."""
        give_up_at = time.monotonic() + END_TIMEOUT_S
        self._reap()
        while self._running and time.monotonic() < give_up_at:
            time.sleep(0.02)
            self._reap()
        for pid in self._running:
            os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        for pid in list(self._running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self._running.discard(pid)
                code = os.waitstatus_to_exitcode(status)
                self._codes.append(code if code >= 0 else 128 - code)


def start_others(settings: TrainerSettings) -> tuple[TrainerSettings, LocalProcesses]:
    """Returns in every process of the node, in each with settings of its own. Before threads, torch and CUDA start."""
    others = LocalProcesses()
    reader, writer = os.pipe()
    for local_rank in range(1, settings.placement.processes_per_node):
        pid = os.fork()
        if pid == 0:
            os.close(writer)
            _end_with_the_first(reader)
            return _settings_of(settings, local_rank), LocalProcesses()
        others.add(pid)
    os.close(reader)
    return settings, others


def _settings_of(settings: TrainerSettings, local_rank: int) -> TrainerSettings:
    return replace(
        settings,
        work_dir=settings.work_dir / f"process-{local_rank}",
        placement=replace(settings.placement, local_rank=local_rank),
    )


def _end_with_the_first(reader: int) -> None:
    """Ends this process with the first one: the pipe closes when that process ends in any way."""

    def wait() -> None:
        os.read(reader, 1)
        exit_now(exit_codes.TERMINATED)

    threading.Thread(target=wait, name="first process", daemon=True).start()
