"""One optimizer step over the rows it was given: forward and backward in microbatches, clip, update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from anneal_runtime.model_source import is_out_of_memory
from anneal_runtime.trainer.adapter import base_of
from anneal_runtime.trainer.objectives.objective import Objective, Step, Unit
from anneal_runtime.trainer.recomputation import Recomputation
from anneal_runtime.trainer.repeatable import Repeatable

if TYPE_CHECKING:
    from peft import PeftModel

    from anneal_runtime.trainer.distributed import Ranks


@dataclass(frozen=True)
class StepOutcome:
    """`series` are the figures that the objective names, not a number where a step has none. `grad_norm` is the norm of
    all gradients before they are clipped. All are left on the device until someone reads them.
    """

    loss: torch.Tensor
    series: torch.Tensor
    grad_norm: torch.Tensor
    token_count: int


class OptimizerStep:
    def __init__(
        self,
        objective: Objective,
        optimizer: torch.optim.Optimizer,
        *,
        token_budget: int,
        max_grad_norm: float,
        ranks: Ranks | None = None,
        recomputation: Recomputation | None = None,
    ) -> None:
        self.token_budget = token_budget
        self.objective = objective
        self._optimizer, self._max_grad_norm, self._ranks = optimizer, max_grad_norm, ranks
        self._recomputation = recomputation
        self._parameters: list[torch.nn.Parameter] = [p for group in optimizer.param_groups for p in group["params"]]
        self._device = self._parameters[0].device
        self.repeatable = Repeatable(self._device)

    def run(self, rows: list[int], learning_rate: float) -> StepOutcome:
        """`rows` are row numbers. Raises OutOfMemoryError only when a single sequence does not fit."""
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate
        ranks = self._ranks
        step = self.objective.step(rows, ranks)
        means = self._backward_within_memory(step, self._share(step.units))
        if ranks is not None:
            means = ranks.add_up(self._parameters, means)
        grad_norm = self._clip()
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        series = torch.cat([means[1:], means.new_tensor(step.known)])
        return StepOutcome(means[0], series, grad_norm, sum(self._token_count(unit) for unit in step.units))

    def _clip(self) -> torch.Tensor:
        """The norm before the clipping."""
        if self._max_grad_norm > 0:
            return torch.nn.utils.clip_grad_norm_(self._parameters, self._max_grad_norm)
        gradients = [parameter.grad for parameter in self._parameters if parameter.grad is not None]
        return torch.nn.utils.get_total_norm(gradients)

    def _share(self, units: list[Unit]) -> list[Unit]:
        if self._ranks is None:
            return units
        return [units[position] for position in self._ranks.share([self._token_count(unit) for unit in units])]

    def _token_count(self, unit: Unit) -> int:
        return sum(self.objective.rows.length(sequence) for sequence in unit)

    def _backward_within_memory(self, step: Step, units: list[Unit]) -> torch.Tensor:
        while True:
            try:
                return self._backward(step, units)
            except RuntimeError as error:
                if not self.repeatable.give_up(error):
                    self._make_smaller(units, error)
            # Outside of the handler, whose traceback keeps the failed pass alive.
            self._optimizer.zero_grad(set_to_none=True)
            if self._device.type == "cuda":
                torch.cuda.empty_cache()

    def _make_smaller(self, units: list[Unit], error: RuntimeError) -> None:
        """Raises the error if that would not help."""
        least = max(self.objective.token_count(unit) for unit in units)
        if not is_out_of_memory(error) or not self._may_repeat(least):
            raise error
        self.token_budget = max(self.token_budget // 2, least)

    def _may_repeat(self, least: int) -> bool:
        """In smaller parts, or else with less memory for each."""
        if self._ranks is not None and self._ranks.makes_same_passes:
            return False
        return self.token_budget > least or self._recompute()

    @property
    def recomputes(self) -> bool:
        return self._recomputation is not None and self._recomputation.is_on

    def _recompute(self) -> bool:
        return self._recomputation is not None and self._recomputation.turn_on_for_memory()

    def _backward(self, step: Step, units: list[Unit]) -> torch.Tensor:
        """The units' part of the step's loss and of its series."""
        means = torch.zeros(1 + len(self.objective.summed), device=self._device)
        for group in self.objective.microbatches(units, self.token_budget):
            sums = step.sums(group)
            if sums is None:
                continue
            with self.repeatable.backward():
                torch.autograd.backward(sums.loss)
            means += torch.cat([sums.loss.detach().reshape(1), sums.series])
        return means


def flops_per_token(model: PeftModel) -> float:
    """Forward 2 per weight, backward 2 for frozen weights and 4 for trained ones; embeddings are only looked up."""
    embedded = int(base_of(model).get_input_embeddings().weight.numel())
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    frozen = sum(_weight_count(parameter) for parameter in model.parameters()) - trained - embedded
    return float(4 * max(frozen, 0) + 6 * trained)


def _weight_count(parameter: torch.nn.Parameter) -> int:
    """A byte of a 4-bit base holds two weights."""
    return parameter.numel() * (2 if parameter.dtype is torch.uint8 else 1)
