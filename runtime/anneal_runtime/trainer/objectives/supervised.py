"""Supervised fine-tuning: the cross-entropy of the tokens that a row teaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.functional import cross_entropy

from anneal_runtime.trainer.forward import entropy_sum
from anneal_runtime.trainer.objectives.objective import Objective, Step, Sums, Unit

if TYPE_CHECKING:
    from anneal_runtime.trainer.distributed import Ranks


class Supervised(Objective):
    summed = ("token_accuracy", "entropy")

    def step(self, rows: list[int], ranks: Ranks | None = None) -> SupervisedStep:
        del ranks
        return SupervisedStep(self, self.rows.sequences(rows))


class SupervisedStep(Step):
    """The loss and the series are means over the target tokens of the whole step."""

    def __init__(self, objective: Supervised, sequences: list[int]) -> None:
        self.units = [(sequence,) for sequence in sequences]
        self.target_count = sum(objective.rows.label_count(sequence) for sequence in sequences)
        self._objective = objective

    def sums(self, units: list[Unit]) -> Sums | None:
        forward = self._objective.forward
        batch = forward.collate(self._objective.rows, [sequence for (sequence,) in units])
        if batch.targets.numel() == 0:
            return None
        logits = forward.logits(batch)
        loss = cross_entropy(logits, batch.targets, reduction="sum") / self.target_count
        right = (logits.detach().argmax(-1) == batch.targets).sum()
        return Sums(loss, torch.stack([right, entropy_sum(logits)]) / self.target_count)
