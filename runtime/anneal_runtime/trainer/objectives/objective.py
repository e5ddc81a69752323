"""What the training loop asks of an objective.

A step's loss is a sum over units, and each unit's part is already divided by the counts of the whole step. So any cut
into microbatches and any number of ranks give the same step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.objectives.reference import ReferenceLogps
from anneal_runtime.trainer.rows import EncodedRows

if TYPE_CHECKING:
    from anneal_runtime.trainer.distributed import Ranks

# Sequences that one forward pass must hold together.
Unit = tuple[int, ...]


# Codes and sentences for the job's events.
News = list[tuple[str, str]]


@dataclass(frozen=True)
class Window:
    """Means over the steps up to `step`, since the validation before; `first` are those of the first window, and
    `held_out` those of the validation.
    """

    step: int
    total_steps: int
    loss: float
    series: dict[str, float]
    first: dict[str, float]
    held_out: dict[str, float] = field(default_factory=dict)


class Sums(NamedTuple):
    """Some units' parts of the step's loss and of each series, left on the device until someone reads them."""

    loss: torch.Tensor
    series: torch.Tensor


class Step(ABC):
    """The rows of one step, with all that their loss needs and that has no gradient."""

    units: list[Unit]
    # The values of the objective's `known` figures.
    known: tuple[float, ...] = ()

    @abstractmethod
    def sums(self, units: list[Unit]) -> Sums | None:
        """One forward pass over some units of the step. None if they teach nothing."""


class Objective(ABC):
    # A step's figures beside its loss, as TRL calls them: those that units add up, and those that a step knows before.
    summed: tuple[str, ...]
    known: tuple[str, ...] = ()
    # The series whose held-out mean `keep: best` and `early_stopping` follow, the higher the better. Where two are the
    # same, and where this is None, they follow the held-out loss, the lower the better.
    decisive: str | None = None
    # Whether a loss that rises or stays says something.
    loss_tells = True
    # None for an objective that compares with no reference.
    reference: ReferenceLogps | None = None

    def __init__(self, forward: ForwardPass, rows: EncodedRows) -> None:
        self.forward, self.rows = forward, rows
        # The news of a later step read these figures of earlier ones. Checkpoints keep them.
        self.memory: dict[str, Any] = {}

    def before_step(self, number: int, rows: list[int], stop_requested: Callable[[], bool]) -> None:
        """Gets what the step needs from elsewhere; `number` counts from 1. Raises EndsBetweenSteps."""
        del number, rows, stop_requested

    @abstractmethod
    def step(self, rows: list[int], ranks: Ranks | None = None) -> Step:
        """`rows` are row numbers, in the order in which the step visits them. All ranks prepare the same step."""

    @property
    def series(self) -> tuple[str, ...]:
        return (*self.summed, *self.known)

    def news_of_rows(self) -> News:
        """What the rows say before the first step."""
        return []

    def news(self, window: Window) -> News:
        """What the series say at a validation. Each code is told once."""
        del window
        return []

    def token_count(self, unit: Unit) -> int:
        """What a pass over this unit alone computes."""
        return self.forward.token_count([self.rows.length(sequence) for sequence in unit])

    def microbatches(self, units: list[Unit], token_budget: int) -> list[list[Unit]]:
        plan = self.forward.plan([self.token_count(unit) for unit in units], token_budget)
        return [[units[position] for position in group] for group in plan]
