"""Validates a run, ten times or every `eval_steps`: held-out figures, best step so far, early stop, warnings."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

import torch

from anneal_runtime.trainer.best_adapter import BestAdapter
from anneal_runtime.trainer.checkpoint import RunState
from anneal_runtime.trainer.held_out import Validated
from anneal_runtime.trainer.objectives.objective import Objective, Window
from anneal_runtime.trainer.training_args import Note, TrainingArgs
from anneal_runtime.trainer.trend import Losses, Words, best_kept, stopped_early


class Measures(Protocol):
    def measure(self, stop_requested: Callable[[], bool]) -> Validated | None:
        """None when a stop was requested meanwhile."""


class Validation:
    """Every decision depends on `state` alone, so a resume decides the same. Without held-out rows a validation judges
    the training's figures only.
    """

    def __init__(
        self,
        args: TrainingArgs,
        total_steps: int,
        state: RunState,
        objective: Objective,
        *,
        held_out: Measures | None,
        best: BestAdapter | None,
        note: Note,
    ) -> None:
        self._args, self._total_steps, self._state = args, total_steps, state
        self._held_out, self._best, self._note = held_out, best, note
        self._objective = objective
        self._every = args.steps_between_validations(total_steps)
        # Sums of the loss and of each series. They stay on the device: reading each would make a GPU wait.
        self._window: torch.Tensor | None = None

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

    def add(self, loss: torch.Tensor, series: torch.Tensor) -> None:
        """Counts the figures of a step."""
        figures = torch.cat([loss.reshape(1), series])
        if self._window is None:
            # A checkpoint of an earlier release has fewer sums of series, or none.
            of_series = self._state.trend.window_series
            missing = [0.0] * (len(series) - len(of_series))
            self._window = figures.new_tensor([self._state.window_loss, *of_series, *missing])
        self._window += figures
        self._state.window_steps += 1

    def store(self) -> None:
        """Makes the state hold the figures that were added."""
        if self._window is not None:
            self._state.window_loss, *self._state.trend.window_series = self._window.tolist()

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
        losses = self._losses(validated)
        if state.trend.add(losses, self._args.min_delta) and self._best is not None:
            self._best.keep()
        of_objective = self._objective.news(self._closed_window(losses, validated))
        news = state.trend.news(losses, self._args, self._total_steps, of_objective, self._objective.loss_tells)
        for code, message in news:
            self._note(code, message)
        state.window_loss, state.window_steps, self._window = 0.0, 0, None
        state.trend.window_series = []
        return validated

    def _losses(self, validated: Validated | None) -> Losses:
        step, loss, decisive = self._state.step, self._state.window_loss / self._state.window_steps, self._decisive
        if validated is None:
            return Losses(step, loss, None)
        # Sums of shares round differently from one validation to the next, and the same figure must be the same number.
        figure = None if decisive is None else round(validated.series[decisive], 6)
        return Losses(step, loss, 0.0 if validated.loss is None else validated.loss, figure)

    def _closed_window(self, losses: Losses, validated: Validated | None) -> Window:
        trend, names = self._state.trend, self._objective.series
        means = [total / self._state.window_steps for total in trend.window_series]
        if trend.first_series is None:
            trend.first_series = means
        series, first = dict(zip(names, means, strict=False)), dict(zip(names, trend.first_series, strict=False))
        held_out = {} if validated is None else validated.figures
        return Window(losses.step, self._total_steps, losses.loss, series, first, held_out)

    @property
    def _decisive(self) -> str | None:
        return self._objective.decisive

    @property
    def _words(self) -> Words:
        return Words(self._decisive, has_loss=self._objective.loss_tells)

    def settle(self) -> int:
        """The end of the run: the model becomes the one to publish. Returns its step."""
        step, trend = self._state.step, self._state.trend
        if step < self._total_steps:
            self._note("stopped_early", stopped_early(trend, step, self._total_steps, self._args, self._words))
        if self._best is None or trend.best_valid_loss is None:
            return step
        self._best.restore()
        self._note("best_kept", best_kept(trend, step, self._words))
        return trend.best_step
