"""One optimizer step over the rows it was given: forward and backward in microbatches, clip, update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from anneal_runtime.model_source import is_out_of_memory
from anneal_runtime.trainer.objectives.supervised import Supervised

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
        objective: Supervised,
        optimizer: torch.optim.Optimizer,
        *,
        token_budget: int,
        max_grad_norm: float,
        ranks: Ranks | None = None,
    ) -> None:
        self.token_budget = token_budget
        self._objective, self._rows = objective, objective.rows
        self._optimizer, self._max_grad_norm, self._ranks = optimizer, max_grad_norm, ranks
        self._parameters: list[torch.nn.Parameter] = [p for group in optimizer.param_groups for p in group["params"]]
        self._device = self._parameters[0].device

    def run(self, rows: list[int], learning_rate: float) -> StepOutcome:
        """`rows` are row numbers. Raises OutOfMemoryError only when a single sequence does not fit."""
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate
        indices = self._rows.sequences(rows)
        means = self._backward_within_memory(self._share(indices), self._objective.target_count(indices))
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
        means = torch.zeros(2, device=self._device)
        for group in self._objective.microbatches(indices, self.token_budget):
            sums = self._objective.sums(group)
            if sums is None:
                continue
            loss = sums.loss / target_count
            torch.autograd.backward(loss)
            means += torch.stack([loss.detach(), sums.right / target_count])
        return means


def flops_per_token(model: PeftModel) -> float:
    """Forward 2 per weight, backward 2 for frozen weights and 4 for trained ones; embeddings are only looked up."""
    embedded = int(model.get_base_model().get_input_embeddings().weight.numel())
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    frozen = sum(parameter.numel() for parameter in model.parameters()) - trained - embedded
    return float(4 * max(frozen, 0) + 6 * trained)
