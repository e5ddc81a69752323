"""Supervised fine-tuning: the cross-entropy of the tokens that a row teaches."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.nn.functional import cross_entropy

from anneal_runtime.trainer.batches import plan_microbatches
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.rows import EncodedRows


class Sums(NamedTuple):
    """Over the target tokens of some sequences, left on the device until someone reads them."""

    loss: torch.Tensor
    # The tokens that the model predicts right.
    right: torch.Tensor


class Supervised:
    def __init__(self, forward: ForwardPass, rows: EncodedRows) -> None:
        self.rows = rows
        self._forward = forward

    def target_count(self, sequences: list[int]) -> int:
        """The number of tokens by which the sums are divided."""
        return sum(self.rows.label_count(sequence) for sequence in sequences)

    def microbatches(self, sequences: list[int], token_budget: int) -> list[list[int]]:
        lengths = [self.rows.length(sequence) for sequence in sequences]
        plan = plan_microbatches(lengths, token_budget, self._forward.overhead_tokens)
        return [[sequences[position] for position in group] for group in plan]

    def sums(self, sequences: list[int]) -> Sums | None:
        """One forward pass. None if the sequences have no target token."""
        batch = self._forward.collate(self.rows, sequences)
        if batch.targets.numel() == 0:
            return None
        logits = self._forward.logits(batch)
        loss = cross_entropy(logits, batch.targets, reduction="sum")
        return Sums(loss, (logits.detach().argmax(-1) == batch.targets).sum())
