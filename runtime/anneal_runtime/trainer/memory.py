"""Passes that draw no gradient, cut smaller where memory does not suffice."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

from anneal_runtime.model_source import is_out_of_memory

Unit = TypeVar("Unit")
Result = TypeVar("Result")


def in_parts(units: list[Unit], run: Callable[[list[Unit]], Result], device: torch.device) -> list[Result]:
    """One pass over all units, or several over halves of them, in order. Raises if a single unit does not fit."""
    try:
        return [run(units)]
    except RuntimeError as error:
        if not is_out_of_memory(error) or len(units) == 1:
            raise
    # Outside of the handler, whose traceback keeps the failed pass alive.
    if device.type == "cuda":
        torch.cuda.empty_cache()
    half = len(units) // 2
    return in_parts(units[:half], run, device) + in_parts(units[half:], run, device)
