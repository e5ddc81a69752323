"""Forward passes over sequences of rows: padded microbatches, and logits only where a target is predicted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import cross_entropy

from anneal_runtime.row_sequences import NOT_LEARNED
from anneal_runtime.trainer.batches import plan_microbatches
from anneal_runtime.trainer.memory import in_parts
from anneal_runtime.trainer.rows import EncodedRows

if TYPE_CHECKING:
    from peft import PeftModel

# Fixed cost of one more pass, in tokens. On a CPU this is Python.
CPU_OVERHEAD_TOKENS = 48
# On a GPU these are kernel launches, a tenth of a second for any model. Small models compute more tokens in that time.
GPU_OVERHEAD_TOKENS_TIMES_WEIGHTS = 5_000_000_000_000
LEAST_GPU_OVERHEAD_TOKENS, MOST_GPU_OVERHEAD_TOKENS = 512, 8192
# A microbatch may always be this large; beyond, it stays within what the caller's batch_size would need anyway.
COMFORTABLE_TOKENS = {"cuda": 8192, "cpu": 4096}


@dataclass(frozen=True)
class Microbatch:
    tokens: torch.Tensor
    positions: torch.Tensor
    targets: torch.Tensor


@dataclass(frozen=True)
class TokenLogps:
    """[sequences, positions]: the log-probability of each learned token at the position that predicts it, else 0."""

    values: torch.Tensor
    is_learned: torch.Tensor


class ForwardPass:
    def __init__(self, model: PeftModel) -> None:
        self._model = model
        self.device = next(model.parameters()).device
        self.overhead_tokens = overhead_tokens(model, self.device)
        self._head = _SelectedPositions(model)

    def collate(self, rows: EncodedRows, indices: list[int]) -> Microbatch:
        """Sequences padded on the right: causal attention needs no mask, as no token sees the padding behind it."""
        width = max(rows.length(index) for index in indices)
        tokens = torch.zeros(len(indices), width, dtype=torch.long)
        positions, targets = [], []
        for line, index in enumerate(indices):
            row, labels = rows.tokens(index), rows.labels(index)
            learned = labels != NOT_LEARNED
            tokens[line, : len(row)] = row
            positions.append(learned.nonzero().squeeze(1) + line * width)
            targets.append(labels[learned])
        return Microbatch(*(self._to_device(part) for part in (tokens, torch.cat(positions), torch.cat(targets))))

    def logits(self, batch: Microbatch) -> torch.Tensor:
        """In fp32, a line for each target of the batch."""
        logits: torch.Tensor
        with autocast(self._model), self._head.only(batch.positions):
            logits = self._model(input_ids=batch.tokens, use_cache=False).logits
        logits = logits.view(-1, logits.size(-1))
        if len(logits) != len(batch.targets):  # a model whose output layer could not be told
            logits = logits.index_select(0, batch.positions)
        return logits.float()

    def token_logps(self, rows: EncodedRows, sequences: list[int]) -> TokenLogps:
        batch = self.collate(rows, sequences)
        logps = -cross_entropy(self.logits(batch), batch.targets, reduction="none")
        values = logps.new_zeros(batch.tokens.numel()).index_copy(0, batch.positions, logps)
        is_learned = torch.zeros_like(values, dtype=torch.bool).index_fill(0, batch.positions, True)
        return TokenLogps(values.view_as(batch.tokens), is_learned.view_as(batch.tokens))

    def answer_logps(self, rows: EncodedRows, sequences: list[int]) -> torch.Tensor:
        """Sums over the learned tokens of each sequence, without gradient and without dropout."""
        return torch.stack([logps.sum() for logps in self.answer_token_logps(rows, sequences)])

    def answer_token_logps(self, rows: EncodedRows, sequences: list[int]) -> list[torch.Tensor]:
        """Of the learned tokens of each sequence, without gradient and without dropout."""
        found: dict[int, torch.Tensor] = {}

        def run(part: list[int]) -> None:
            tokens = self.token_logps(rows, part)
            for sequence, logps, learned in zip(part, tokens.values, tokens.is_learned, strict=True):
                found[sequence] = logps[learned]

        lengths = [rows.length(sequence) for sequence in sequences]
        was_training = self._model.training
        self._model.eval()
        try:
            with torch.no_grad():
                for group in plan_microbatches(lengths, COMFORTABLE_TOKENS[self.device.type], self.overhead_tokens):
                    in_parts([sequences[position] for position in group], run, self.device)
        finally:
            self._model.train(was_training)
        return [found[sequence] for sequence in sequences]

    def _to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        if self.device.type == "cuda":
            return tensor.pin_memory().to(self.device, non_blocking=True)
        return tensor


class _SelectedPositions:
    """Makes the output layer see only the positions that predict a target: the rest of the vocabulary-wide logits,
    often the largest tensor of a pass, is never computed. Scaling that a model applies after the layer still happens.
    """

    def __init__(self, model: PeftModel) -> None:
        self._positions: torch.Tensor | None = None
        output_layer = model.get_base_model().get_output_embeddings()
        if output_layer is not None:
            output_layer.register_forward_pre_hook(self._select)

    @contextmanager
    def only(self, positions: torch.Tensor) -> Iterator[None]:
        self._positions = positions
        try:
            yield
        finally:
            self._positions = None

    def _select(self, _layer: torch.nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if self._positions is None:
            return None
        hidden = inputs[0]
        return (hidden.reshape(-1, hidden.size(-1)).index_select(0, self._positions).unsqueeze(0), *inputs[1:])


def autocast(model: PeftModel) -> torch.autocast:
    """Over a base in bfloat16 activations are bfloat16, too; the adapter itself stays in float32."""
    weight = model.get_base_model().get_input_embeddings().weight
    return torch.autocast(weight.device.type, dtype=torch.bfloat16, enabled=weight.dtype is torch.bfloat16)


def overhead_tokens(model: torch.nn.Module, device: torch.device) -> int:
    """What one more pass costs, in tokens."""
    if device.type == "cpu":
        return CPU_OVERHEAD_TOKENS
    weights = sum(parameter.numel() for parameter in model.parameters())
    tokens = GPU_OVERHEAD_TOKENS_TIMES_WEIGHTS // weights
    return min(max(tokens, LEAST_GPU_OVERHEAD_TOKENS), MOST_GPU_OVERHEAD_TOKENS)


def default_token_budget(rows: EncodedRows, batch_size: int, device: torch.device) -> int:
    """Never more than a batch of the longest sequences would take, which the caller declared to fit by `batch_size`."""
    return max(batch_size * rows.longest(), COMFORTABLE_TOKENS[device.type])
