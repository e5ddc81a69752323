"""Detects a pass that never ends, as on a hung device: the server would answer nobody, yet report that it is ready."""

from __future__ import annotations

import time
from typing import Protocol

LOOK_EVERY_S = 30.0
# A quarter of an hour for one pass: more than a large model on a slow CPU takes for its longest prompt.
LOOKS = 30


class Turns(Protocol):
    turn: int
    is_busy: bool


def wait_until_hung(scheduler: Turns, look_every_s: float = LOOK_EVERY_S, looks: int = LOOKS) -> None:
    """Returns once so many looks in a row saw the same busy turn. Looks, not seconds: a stopped process is not hung."""
    seen, turn = 0, scheduler.turn
    while seen < looks:
        time.sleep(look_every_s)
        seen = seen + 1 if scheduler.is_busy and scheduler.turn == turn else 0
        turn = scheduler.turn
