"""One optimizer step over the rows it was given: forward and backward in microbatches, clip, update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import cross_entropy

from anneal_runtime.model_source import is_out_of_memory
from anneal_runtime.trainer.batches import plan_microbatches
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.rows import EncodedRows

if TYPE_CHECKING:
    from peft import PeftModel

    from anneal_runtime.trainer.distributed import Ranks


@dataclass(frozen=True)
class StepOutcome:
    """`loss` is the mean over the target tokens of the whole step, `token_accuracy` the share of these that the model
    predicts right, `grad_norm` the norm of all gradients before they are clipped. All are left on the device until
    someone reads them.
    """

    loss: torch.Tensor
    token_accuracy: torch.Tensor
    grad_norm: torch.Tensor
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
        self._rows, self._optimizer, self._parameters = rows, optimizer, parameters
        self._max_grad_norm, self._ranks = max_grad_norm, ranks
        self._device = parameters[0].device
        self.forward = ForwardPass(model, self._device)

    def run(self, rows: list[int], learning_rate: float) -> StepOutcome:
        """`rows` are row numbers. Raises OutOfMemoryError only when a single sequence does not fit."""
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate
        indices = self._rows.sequences(rows)
        target_count = sum(self._rows.label_count(index) for index in indices)
        means = self._backward_within_memory(self._share(indices), target_count)
        if self._ranks is not None:
            means = self._ranks.add_up(self._parameters, means)
        grad_norm = self._clip()
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        loss, token_accuracy = means
        return StepOutcome(loss, token_accuracy, grad_norm, sum(self._rows.length(index) for index in indices))

    def _clip(self) -> torch.Tensor:
        """The norm before the clipping."""
        if self._max_grad_norm > 0:
            return torch.nn.utils.clip_grad_norm_(self._parameters, self._max_grad_norm)
        gradients = [parameter.grad for parameter in self._parameters if parameter.grad is not None]
        return torch.nn.utils.get_total_norm(gradients)

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
        """The sequences' part of the step's loss and of its token accuracy, means over `target_count` tokens."""
        lengths = [self._rows.length(index) for index in indices]
        means = torch.zeros(2, device=self._device)
        for group in plan_microbatches(lengths, self.token_budget, self.forward.overhead_tokens):
            batch = self.forward.collate(self._rows, [indices[position] for position in group])
            if batch.targets.numel() == 0:
                continue
            logits = self.forward.logits(batch)
            loss = cross_entropy(logits, batch.targets, reduction="sum") / target_count
            torch.autograd.backward(loss)
            right = (logits.detach().argmax(-1) == batch.targets).sum()
            means += torch.stack([loss.detach(), right / target_count])
        return means


def flops_per_token(model: PeftModel) -> float:
    """Forward 2 per weight, backward 2 for frozen weights and 4 for trained ones; embeddings are only looked up."""
    embedded = int(model.get_base_model().get_input_embeddings().weight.numel())
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    frozen = sum(parameter.numel() for parameter in model.parameters()) - trained - embedded
    return float(4 * max(frozen, 0) + 6 * trained)
