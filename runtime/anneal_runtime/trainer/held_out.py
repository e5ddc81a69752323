"""Measures loss and accuracy on rows that are not trained on. The measurement draws no random number, so it leaves no
trace in the training.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import torch

from anneal_runtime.trainer.memory import in_parts
from anneal_runtime.trainer.objectives.objective import Objective, Step, Unit

if TYPE_CHECKING:
    from peft import PeftModel

    from anneal_runtime.trainer.distributed import Ranks
    from anneal_runtime.trainer.mixed_order import Sources

MOST_ROWS = 128
# Fewer rows would say too little, however short the run is: to show a curve, and to decide by it.
FEWEST_SHOWN, FEWEST_DECISIVE = 8, 32
# A row costs about half as much to validate as to train: with this share validation takes about a tenth of the time.
SHARE_OF_TRAINED_ROWS = 0.2


@dataclass(frozen=True)
class Validated:
    """The objective's loss and series over `row_count` held-out rows; None for an objective that has no loss there.
    With several data sets the figures are means over the sets by their weights, and `by_set` has the loss or the reward
    of each: `loss/a`. `figures` are for news only.
    """

    loss: float | None
    series: dict[str, float]
    row_count: int
    by_set: dict[str, float] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)


def rows_wanted(rows_trained_between: int, is_decisive: bool) -> int:
    """How many rows a validation takes. `rows_trained_between` counts the training rows from one to the next."""
    fewest = FEWEST_DECISIVE if is_decisive else FEWEST_SHOWN
    return min(MOST_ROWS, max(fewest, int(rows_trained_between * SHARE_OF_TRAINED_ROWS)))


def evenly_spaced(available: int, wanted: int) -> list[int]:
    """Row numbers."""
    count = min(available, wanted)
    return [number * available // count for number in range(count)]


class HeldOutPart(NamedTuple):
    """The held-out rows of one data set, and its weight among those that have some."""

    name: str
    share: float
    used: list[int]


def held_out_parts(sources: Sources, of_rows: Sequence[int], wanted: int) -> list[HeldOutPart]:
    """Of about `wanted` rows each set has the same number, as far as it has them. `of_rows` has the set of each row."""
    present = sorted(set(of_rows))
    parts = []
    for number, share in zip(present, sources.shares(present), strict=True):
        rows = [row for row, source in enumerate(of_rows) if source == number]
        places = evenly_spaced(len(rows), -(-wanted // len(present)))
        parts.append(HeldOutPart(sources.names[number], share, [rows[place] for place in places]))
    return parts


class HeldOut:
    def __init__(
        self,
        model: PeftModel,
        objective: Objective,
        used: list[int],
        ranks: Ranks | None,
        parts: Sequence[HeldOutPart] = (),
    ) -> None:
        """`parts` are the used rows of each of several data sets."""
        self._model, self._objective, self._ranks = model, objective, ranks
        self._device = next(model.parameters()).device
        self._used, self._parts = used, parts

    def measure(self, stop_requested: Callable[[], bool]) -> Validated | None:
        """None when a stop was requested meanwhile: nothing is known then. All ranks must get the same answer from
        `stop_requested` after each round.
        """
        self._model.eval()
        found: list[list[float]] = []
        try:
            with torch.no_grad():
                for rows in [part.used for part in self._parts] or [self._used]:
                    means = self._means(rows, stop_requested)
                    if means is None:
                        return None
                    found.append(means)
        finally:
            self._model.train()
        loss, *series = _mean_over_sets(self._parts, found) if self._parts else found[0]
        by_set = {f"loss/{part.name}": means[0] for part, means in zip(self._parts, found, strict=False)}
        return Validated(loss, dict(zip(self._objective.series, series, strict=True)), len(self._used), by_set)

    def _means(self, rows: list[int], stop_requested: Callable[[], bool]) -> list[float] | None:
        """Each rank takes every n-th group."""
        rank, size = (0, 1) if self._ranks is None else (self._ranks.rank, self._ranks.world_size)
        step = self._objective.step(rows, self._ranks)
        # The same on every rank: the budget depends on nothing that a rank meets while it trains.
        groups = self._objective.microbatches(
            step.units, self._objective.forward.token_budget(self._objective.rows.longest(), 1)
        )
        totals = [0.0] * (1 + len(self._objective.summed))
        for first in range(0, len(groups), size):
            mine = groups[first + rank : first + rank + 1]
            parts = in_parts(mine[0], lambda units: self._evaluate(step, units), self._device) if mine else []
            sums = [sum(values) for values in zip(*parts, strict=True)] if parts else [0.0] * len(totals)
            if self._ranks is not None:
                sums = self._ranks.sum_of(sums)
            totals = [total + part for total, part in zip(totals, sums, strict=True)]
            if stop_requested():
                return None
        return [*totals, *step.known]

    def _evaluate(self, step: Step, units: list[Unit]) -> list[float]:
        """The units' part of the loss and of the summed series."""
        sums = step.sums(units)
        if sums is None:
            return [0.0] * (1 + len(self._objective.summed))
        return [float(sums.loss), *sums.series.tolist()]


def _mean_over_sets(parts: Sequence[HeldOutPart], found: list[list[float]]) -> list[float]:
    """By the weights of the sets. A set without a figure does not count for it, but each set has a loss."""
    loss, *series = zip(*found, strict=True)
    shares = [part.share for part in parts]
    means = [sum(share * value for share, value in zip(shares, loss, strict=True))]
    for values in series:
        known = [(share, value) for share, value in zip(shares, values, strict=True) if not math.isnan(value)]
        weight = sum(share for share, _ in known)
        means.append(sum(share * value for share, value in known) / weight if known else math.nan)
    return means
