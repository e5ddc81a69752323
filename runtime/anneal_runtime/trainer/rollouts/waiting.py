"""Waiting that ends when the attempt is asked to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import TypeVar

T = TypeVar("T")
PULSE_S = 0.2


def pulsing(call: Callable[[], T], pulse: Callable[[], None]) -> T:
    """The call's result. `pulse` is called while the service has not answered; what it raises ends the waiting. The
    service keeps what it does meanwhile, and the process ends before the call does.
    """
    pool = ThreadPoolExecutor(1)
    calling = pool.submit(call)
    pool.shutdown(wait=False)
    while not wait_for([calling], PULSE_S).done:
        pulse()
    return calling.result()


def wait(seconds: float, pulse: Callable[[], None]) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, PULSE_S))
        pulse()
