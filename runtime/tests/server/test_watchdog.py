import threading

import numpy as np
from numpy.typing import NDArray

from anneal_runtime.server.decoding.encoding import Encoder, EncodeRequest
from anneal_runtime.server.decoding.lora import Adapter
from anneal_runtime.server.decoding.scheduler import Scheduler
from anneal_runtime.server.metrics import EngineMetrics
from anneal_runtime.server.watchdog import wait_until_hung


class HeldEncoder(Encoder):
    """Each pass ends when it is let go."""

    def __init__(self) -> None:
        self.begun, self.let_go = threading.Semaphore(0), threading.Semaphore(0)

    def sums(self, windows: list[list[int]], _adapter: Adapter | None) -> NDArray[np.float32]:
        self.begun.release()
        self.let_go.acquire()
        return np.ones((len(windows), 2), dtype=np.float32)


def test_a_pass_that_never_ends_is_noticed_and_waiting_or_going_on_is_not() -> None:
    scheduler, encoder, done = Scheduler(None, 8, EngineMetrics()), HeldEncoder(), threading.Event()
    threading.Thread(target=scheduler.run_forever, daemon=True).start()
    watchdog = threading.Thread(target=wait_until_hung, args=(scheduler, 0.02, 50), daemon=True)
    watchdog.start()

    watchdog.join(1.5)
    assert watchdog.is_alive(), "nothing was asked of it"

    for _ in range(3):
        scheduler.submit(EncodeRequest(encoder, [[[1]]], None, lambda _error: done.set()))
        encoder.begun.acquire()
        watchdog.join(0.1)
        encoder.let_go.release()
        assert done.wait(60)
        done.clear()
    assert watchdog.is_alive(), "each pass ended"

    scheduler.submit(EncodeRequest(encoder, [[[1]]], None, lambda _error: done.set()))
    watchdog.join(60)
    assert not watchdog.is_alive()
    encoder.let_go.release()
