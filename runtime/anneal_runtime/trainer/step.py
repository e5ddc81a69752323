"""One optimizer step over the rows it was given: forward and backward in microbatches, clip, update."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import cross_entropy

from anneal_runtime.model_source import is_out_of_memory
from anneal_runtime.trainer.batches import plan_microbatches
from anneal_runtime.trainer.rows import NOT_LEARNED, EncodedRows

if TYPE_CHECKING:
    from peft import PeftModel

    from anneal_runtime.trainer.distributed import Ranks

# Fixed cost of one more forward and backward pass, in tokens: kernel launches on a GPU, Python on a CPU.
OVERHEAD_TOKENS = {"cuda": 1024, "cpu": 48}
# A microbatch may always be this large; beyond, it stays within what the caller's batch_size would need anyway.
COMFORTABLE_TOKENS = {"cuda": 8192, "cpu": 4096}


@dataclass(frozen=True)
class StepOutcome:
    """`loss` is the mean over the target tokens of the whole step, left on the device until someone reads it."""

    loss: torch.Tensor
    token_count: int


class OptimizerStep:
    def __init__(
        self,
        model: PeftModel,
        rows: EncodedRows,
        optimizer: torch.optim.Optimizer,
        parameters: list[torch.nn.Parameter],
        *,
        token_budget: int,
        max_grad_norm: float,
        ranks: Ranks | None = None,
    ) -> None:
        self.token_budget = token_budget
        self._model, self._rows, self._optimizer, self._parameters = model, rows, optimizer, parameters
        self._max_grad_norm, self._ranks = max_grad_norm, ranks
        self._device = parameters[0].device
        self._head = _SelectedPositions(model)

    def run(self, rows: list[int], learning_rate: float) -> StepOutcome:
        """`rows` are row numbers. Raises OutOfMemoryError only when a single sequence does not fit."""
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate
        indices = self._rows.sequences(rows)
        target_count = sum(self._rows.label_count(index) for index in indices)
        loss = self._backward_within_memory(self._share(indices), target_count)
        if self._ranks is not None:
            loss = self._ranks.add_up(self._parameters, loss)
        if self._max_grad_norm > 0:
            torch.nn.utils.clip_grad_norm_(self._parameters, self._max_grad_norm)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return StepOutcome(loss, sum(self._rows.length(index) for index in indices))

    def _share(self, indices: list[int]) -> list[int]:
        if self._ranks is None:
            return indices
        return [indices[position] for position in self._ranks.share([self._rows.length(index) for index in indices])]

    def _backward_within_memory(self, indices: list[int], target_count: int) -> torch.Tensor:
        while True:
            try:
                return self._backward(indices, target_count)
            except RuntimeError as error:
                longest = max(self._rows.length(index) for index in indices)
                if not is_out_of_memory(error) or self.token_budget <= longest:
                    raise
            # Outside of the handler, whose traceback keeps the failed pass alive.
            self.token_budget = max(self.token_budget // 2, longest)
            self._optimizer.zero_grad(set_to_none=True)
            if self._device.type == "cuda":
                torch.cuda.empty_cache()

    def _backward(self, indices: list[int], target_count: int) -> torch.Tensor:
        """The sequences' part of the step's loss, whose mean is over `target_count` tokens."""
        lengths = [self._rows.length(index) for index in indices]
        total = torch.zeros((), device=self._device)
        for group in plan_microbatches(lengths, self.token_budget, OVERHEAD_TOKENS[self._device.type]):
            batch = self._collate([indices[position] for position in group])
            if batch.targets.numel() == 0:
                continue
            loss = self._loss_sum(batch) / target_count
            torch.autograd.backward(loss)
            total += loss.detach()
        return total

    def _collate(self, indices: list[int]) -> _Microbatch:
        """Sequences padded on the right: causal attention needs no mask, as no token sees the padding behind it."""
        width = max(self._rows.length(index) for index in indices)
        tokens = torch.zeros(len(indices), width, dtype=torch.long)
        positions, targets = [], []
        for line, index in enumerate(indices):
            row, labels = self._rows.tokens(index), self._rows.labels(index)
            learned = labels != NOT_LEARNED
            tokens[line, : len(row)] = row
            positions.append(learned.nonzero().squeeze(1) + line * width)
            targets.append(labels[learned])
        return _Microbatch(*(self._to_device(part) for part in (tokens, torch.cat(positions), torch.cat(targets))))

    def _to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        if self._device.type == "cuda":
            return tensor.pin_memory().to(self._device, non_blocking=True)
        return tensor

    def _loss_sum(self, batch: _Microbatch) -> torch.Tensor:
        with autocast(self._device), self._head.only(batch.positions):
            logits = self._model(input_ids=batch.tokens, use_cache=False).logits
        logits = logits.view(-1, logits.size(-1))
        if len(logits) != len(batch.targets):  # a model whose output layer could not be told
            logits = logits.index_select(0, batch.positions)
        return cross_entropy(logits.float(), batch.targets, reduction="sum")


@dataclass(frozen=True)
class _Microbatch:
    tokens: torch.Tensor
    positions: torch.Tensor
    targets: torch.Tensor


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


def autocast(device: torch.device) -> torch.autocast:
    """bf16 where the GPU has it; the adapter itself stays in fp32."""
    enabled = device.type == "cuda" and torch.cuda.is_bf16_supported()
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=enabled)


def default_token_budget(rows: EncodedRows, batch_size: int, device: torch.device) -> int:
    """Never more than a batch of the longest sequences would take, which the caller declared to fit by `batch_size`."""
    return max(batch_size * rows.longest(), COMFORTABLE_TOKENS[device.type])
