"""Steps that have the same bits each time on a GPU, so that a resumed run equals an undisturbed one.

The fast kernels of attention add the parts of a gradient in the order in which they end. On rows of more than a hundred
tokens or so, two runs of one step would differ in their last bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from anneal_runtime.log import log
from anneal_runtime.settings import make_products_repeatable


def avoid_cudnn_attention(device: torch.device) -> None:
    """Its gradients never repeat, and it plans anew for each shape of a pass. Call before the first pass."""
    if device.type == "cuda":
        torch.backends.cuda.enable_cudnn_sdp(False)


class Repeatable:
    """For the backward passes of a run."""

    def __init__(self, device: torch.device) -> None:
        self._is_on = device.type == "cuda"
        if self._is_on:
            make_products_repeatable()
            # Torch would fill each new tensor first, to show reads of memory that nobody wrote.
            torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]

    @contextmanager
    def backward(self) -> Iterator[None]:
        """Only backward passes: the sampling of answers uses operations that torch would refuse."""
        if not self._is_on:
            yield
            return
        torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(False)

    def give_up(self, error: RuntimeError) -> bool:
        """Whether the pass failed for an operation that has no repeatable form, and may be done again without."""
        if not self._is_on or "deterministic" not in str(error):
            return False
        self._is_on = False
        log(f"A resumed run may differ from an undisturbed one by rounding: {error}")
        return True
