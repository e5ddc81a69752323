"""Waiting in tests: for a condition, never for a time."""

import time
from collections.abc import Callable
from typing import Any

# Ends a test that would hang. A busy machine may be twenty times slower than an idle one.
PATIENCE_S = 600.0


def until(condition: Callable[[], Any]) -> None:
    give_up_at = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < give_up_at, "the condition never came true"
        time.sleep(0.02)
