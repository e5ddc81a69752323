"""Measures loss and accuracy on rows that are not trained on. The measurement draws no random number, so it leaves no
trace in the training.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from anneal_runtime.model_source import is_out_of_memory
from anneal_runtime.trainer.forward import default_token_budget
from anneal_runtime.trainer.objectives.supervised import Supervised
from anneal_runtime.trainer.rows import EncodedRows, count_rows, encode_rows

if TYPE_CHECKING:
    from peft import PeftModel

    from anneal_runtime.tokenization import TextEncoder
    from anneal_runtime.trainer.distributed import Ranks

MOST_ROWS = 128
# Fewer rows would say too little, however short the run is: to show a curve, and to decide by it.
FEWEST_SHOWN, FEWEST_DECISIVE = 8, 32
# A row costs about half as much to validate as to train: with this share validation takes about a tenth of the time.
SHARE_OF_TRAINED_ROWS = 0.2


@dataclass(frozen=True)
class Validated:
    """Means over the target tokens of `row_count` held-out rows."""

    loss: float
    token_accuracy: float
    row_count: int


@dataclass(frozen=True)
class HeldOutRows:
    """The rows of every validation of a run, of `available` in the file."""

    rows: EncodedRows
    used: list[int]
    available: int


def rows_wanted(rows_trained_between: int, is_decisive: bool) -> int:
    """How many rows a validation takes. `rows_trained_between` counts the training rows from one to the next."""
    fewest = FEWEST_DECISIVE if is_decisive else FEWEST_SHOWN
    return min(MOST_ROWS, max(fewest, int(rows_trained_between * SHARE_OF_TRAINED_ROWS)))


def load_held_out(path: Path, encoder: TextEncoder, max_length: int, wanted: int) -> HeldOutRows:
    """Evenly spaced rows."""
    available = count_rows(path)
    count = min(available, wanted)
    used = [number * available // count for number in range(count)]
    return HeldOutRows(encode_rows(path, encoder, max_length, set(used)), used, available)


class HeldOut:
    def __init__(self, model: PeftModel, objective: Supervised, used: list[int], ranks: Ranks | None) -> None:
        self._model, self._objective, self._ranks = model, objective, ranks
        self._device = next(model.parameters()).device
        self._row_count = len(used)
        # The same on every rank: the budget depends on nothing that a rank meets while it trains.
        budget = default_token_budget(objective.rows, 1, self._device)
        self._groups = objective.microbatches(objective.rows.sequences(used), budget)

    def measure(self, stop_requested: Callable[[], bool]) -> Validated | None:
        """None when a stop was requested meanwhile: nothing is known then. All ranks must get the same answer from
        `stop_requested` after each round.
        """
        self._model.eval()
        try:
            with torch.no_grad():
                sums = self._sums(stop_requested)
        finally:
            self._model.train()
        if sums is None:
            return None
        loss, right, count = sums
        return Validated(loss / count, right / count, self._row_count)

    def _sums(self, stop_requested: Callable[[], bool]) -> list[float] | None:
        """Each rank takes every n-th group."""
        rank, size = (0, 1) if self._ranks is None else (self._ranks.rank, self._ranks.world_size)
        totals = [0.0, 0.0, 0.0]
        for first in range(0, len(self._groups), size):
            mine = self._groups[first + rank : first + rank + 1]
            sums = self._within_memory(mine[0]) if mine else [0.0, 0.0, 0.0]
            if self._ranks is not None:
                sums = self._ranks.sum_of(sums)
            totals = [total + part for total, part in zip(totals, sums, strict=True)]
            if stop_requested():
                return None
        return totals

    def _within_memory(self, indices: list[int]) -> list[float]:
        try:
            return self._evaluate(indices)
        except RuntimeError as error:
            if not is_out_of_memory(error) or len(indices) == 1:
                raise
        # Outside of the handler, whose traceback keeps the failed pass alive.
        if self._device.type == "cuda":
            torch.cuda.empty_cache()
        half = len(indices) // 2
        parts = self._within_memory(indices[:half]), self._within_memory(indices[half:])
        return [a + b for a, b in zip(*parts, strict=True)]

    def _evaluate(self, indices: list[int]) -> list[float]:
        """Sum of losses, number of right tokens, number of tokens."""
        sums = self._objective.sums(indices)
        if sums is None:
            return [0.0, 0.0, 0.0]
        return [float(sums.loss), float(sums.right), float(self._objective.target_count(indices))]
