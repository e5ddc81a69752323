"""Around what makes a million objects that stay: libraries and models."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def frozen_after() -> Iterator[None]:
    """What is made within is never looked through for garbage; that search was a sixth of a start's processor time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
