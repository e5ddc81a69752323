"""Validates a run, ten times or every `eval_steps`: held-out loss, best step so far, early stop, warnings."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager

import torch

from anneal_runtime.trainer.best_adapter import BestAdapter
from anneal_runtime.trainer.checkpoint import RunState
from anneal_runtime.trainer.held_out import HeldOut, Validated
from anneal_runtime.trainer.training_args import Note, TrainingArgs
from anneal_runtime.trainer.trend import Losses, best_kept, stopped_early


class Validation:
    """Every decision depends on `state` alone, so a resume decides the same. Without held-out rows a validation judges
    the training loss only.
    """

    def __init__(
        self,
        args: TrainingArgs,
        total_steps: int,
        state: RunState,
        *,
        held_out: HeldOut | None,
        best: BestAdapter | None,
        note: Note,
    ) -> None:
        self._args, self._total_steps, self._state = args, total_steps, state
        self._held_out, self._best, self._note = held_out, best, note
        self._every = args.steps_between_validations(total_steps)
        # The sum stays on the device: reading each loss would make a GPU wait.
        self._window_loss: torch.Tensor | None = None

    @property
    def is_due(self) -> bool:
        step = self._state.step
        is_end_of_window = step % self._every == 0 or step == self._total_steps
        return step > self._state.trend.validated_at and is_end_of_window

    @property
    def ends_run(self) -> bool:
        """The run has done its steps, or stops early. A validation that is due comes first."""
        if self.is_due:
            return False
        patience = self._args.patience
        gains_nothing = patience is not None and self._state.trend.validations_without_gain >= patience
        return gains_nothing or self._state.step >= self._total_steps

    @property
    def left(self) -> int:
        return math.ceil(self._total_steps / self._every) - math.ceil(self._state.step / self._every)

    def add(self, loss: torch.Tensor) -> None:
        """Counts the loss of a step."""
        if self._window_loss is None:
            self._window_loss = loss.new_tensor(self._state.window_loss)
        self._window_loss += loss
        self._state.window_steps += 1

    def store(self) -> None:
        """Makes the state hold the losses that were added."""
        if self._window_loss is not None:
            self._state.window_loss = float(self._window_loss)

    def run(self, aside: AbstractContextManager[None], stop_requested: Callable[[], bool]) -> Validated | None:
        """A stop leaves the validation due: the next attempt begins with it."""
        state, validated = self._state, None
        if stop_requested():
            return None
        if self._held_out is not None:
            with aside:
                validated = self._held_out.measure(stop_requested)
            if validated is None:
                return None
        self.store()
        losses = Losses(state.step, state.window_loss / state.window_steps, validated.loss if validated else None)
        if state.trend.add(losses, self._args.min_delta) and self._best is not None:
            self._best.keep()
        for code, message in state.trend.news(losses, self._args, self._total_steps):
            self._note(code, message)
        state.window_loss, state.window_steps, self._window_loss = 0.0, 0, None
        return validated

    def settle(self) -> int:
        """The end of the run: the model becomes the one to publish. Returns its step."""
        step, trend = self._state.step, self._state.trend
        if step < self._total_steps:
            self._note("stopped_early", stopped_early(trend, step, self._total_steps, self._args))
        if self._best is None or trend.best_valid_loss is None:
            return step
        self._best.restore()
        self._note("best_kept", best_kept(trend, step))
        return trend.best_step
