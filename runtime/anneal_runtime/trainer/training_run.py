"""The training itself: from a loaded base to a trained adapter, resumable at every checkpoint."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from anneal_runtime.log import log
from anneal_runtime.trainer.adapter import CANNOT_WRITE, Origin
from anneal_runtime.trainer.artifacts import CheckpointUploader
from anneal_runtime.trainer.best_adapter import BestAdapter
from anneal_runtime.trainer.checkpoint import RunState, save_checkpoint
from anneal_runtime.trainer.failures import Diverged, EndsBetweenSteps
from anneal_runtime.trainer.held_out import Validated
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.mixed_order import Sources
from anneal_runtime.trainer.objectives.reference import ReferenceLogps, StartingModel, save_references
from anneal_runtime.trainer.reporter import ProgressClock, Reporter
from anneal_runtime.trainer.step import OptimizerStep, StepOutcome, flops_per_token
from anneal_runtime.trainer.termination import GRACE_S, Termination
from anneal_runtime.trainer.training_args import TrainingArgs
from anneal_runtime.trainer.training_data import TrainingData
from anneal_runtime.trainer.validation import Validation

if TYPE_CHECKING:
    from peft import PeftModel

    from anneal_runtime.trainer.distributed import Ranks
    from anneal_runtime.trainer.rollouts.prepare import RolloutPlan

Series = dict[str, float | int | None]

# A report has fields for these figures.
FIELDS = ("valid_loss", "valid_rows", "token_accuracy", "valid_token_accuracy")

# People look most at the first steps, and at those of a slow run.
FIRST_REPORTED = 10
REPORT_EVERY = 10
REPORT_AFTER_S = 15.0


@dataclass(frozen=True)
class Plan:
    """What to train on, and where to begin. `held_out` is None without rows that are not trained on. `rollouts` is
    for a method whose answers are sampled.
    """

    args: TrainingArgs
    method: Method
    origin: Origin
    data: Path
    held_out: Path | None
    work_dir: Path
    checkpoint: Path | None
    # The adapter to begin from; None makes a new one.
    start: Path | None
    # None for rows of one data set.
    sources: Sources | None = None
    rollouts: RolloutPlan | None = None


@dataclass
class TrainingRun:
    """A run that prepare_run.py has made."""

    plan: Plan
    data: TrainingData
    model: PeftModel
    optimizer: torch.optim.Optimizer
    learning_rate: Callable[[int], float]
    optimizer_step: OptimizerStep
    validation: Validation
    best: BestAdapter | None
    references: dict[str, ReferenceLogps]
    # None where the method compares with none.
    start: StartingModel | None
    state: RunState
    ranks: Ranks | None

    def __post_init__(self) -> None:
        self.newest = _unreported(self.state, len(self.optimizer_step.objective.series))
        # The newest step's validation, if the step has one.
        self._validated: Validated | None = None
        self._saved_step = self.state.step
        self._flops_per_token = flops_per_token(self.model)
        self._clock = ProgressClock(self.state.seconds_per_step)

    def train(self, reporter: Reporter, uploader: CheckpointUploader, termination: Termination) -> bool:
        """False when SIGTERM ended it early; its checkpoint is then committed."""
        ranks = self.ranks

        def stop_requested() -> bool:
            return termination.requested if ranks is None else ranks.stop_agreed

        self.model.train()
        while not self.validation.ends_run:
            try:
                self._step(stop_requested)
                self._validate(stop_requested)
            except EndsBetweenSteps:
                self._keep_finished_steps(uploader)
                raise
            is_stopping = stop_requested()
            self._report(reporter, uploader)
            self._save(uploader, is_stopping)
            if is_stopping and not self.validation.ends_run:
                self._stop(uploader)
                return False
        return True

    def follow(self, stop_requested: Callable[[], bool], each_step: Callable[[], None] = lambda: None) -> bool:
        """Runs the same steps as `train`, without reports and checkpoints. False when it was asked to stop."""
        self.model.train()
        while not self.validation.ends_run:
            self._step(stop_requested)
            self._validate(stop_requested)
            each_step()
            if stop_requested() and not self.validation.ends_run:
                return False
        return True

    def _step(self, stop_requested: Callable[[], bool]) -> None:
        """Does nothing if the checkpoint's step has not been validated yet."""
        if self.validation.is_due:
            return
        state, rows = self.state, self.data.order.rows_of(self.state.step)
        self.optimizer_step.objective.before_step(state.step + 1, rows, stop_requested)
        if self.ranks is not None:
            self.ranks.seed_dropout(self.plan.args.seed, state.step)
        outcome = self.optimizer_step.run(rows, self.learning_rate(state.step))
        state.step += 1
        state.tokens_seen += outcome.token_count
        state.flops += outcome.token_count * self._flops_per_token
        state.token_budget = self.optimizer_step.token_budget
        state.recomputes = self.optimizer_step.recomputes
        self.validation.add(outcome.loss, outcome.series)
        self._clock.step_done(outcome.token_count)
        self.newest = outcome

    def _validate(self, stop_requested: Callable[[], bool]) -> None:
        self._validated = None
        if self.validation.is_due:
            self._finite_loss()
            self._validated = self.validation.run(self._clock.aside(), stop_requested)

    def _report(self, reporter: Reporter, uploader: CheckpointUploader) -> None:
        """Reports the first steps, full tens, validated steps, the last step, and a step each few seconds. A step whose
        validation is due is reported by the next attempt.
        """
        step, validated = self.state.step, self._validated
        is_counted = step <= FIRST_REPORTED or step % REPORT_EVERY == 0
        is_reported = is_counted or validated is not None or self.validation.ends_run
        if self.validation.is_due or not (is_reported or self._clock.seconds_unread >= REPORT_AFTER_S):
            return
        loss, iter_time = self._finite_loss(), self._clock.read()
        self.state.seconds_per_step = self._clock.seconds_per_step
        remaining_s = self._remaining_s(iter_time)
        seen = "" if validated is None else _seen(validated)
        log(f"Step {step} of {self.data.total_steps}: loss {loss:.4f}{seen}, about {remaining_s:.0f} s left")
        reporter.step(
            {
                "step": step,
                "loss": loss,
                "learning_rate": self.learning_rate(step - 1),
                "epoch": step / self.data.order.steps_per_epoch,
                "iter_time": iter_time,
                "flops": self.state.flops,
                "remaining_time": remaining_s,
                "tokens": self.state.tokens_seen,
                "grad_norm": _finite(float(self.newest.grad_norm)),
                "tokens_per_second": self._clock.tokens_per_second,
                **_reported(
                    {**self.series(), **_validated_series(validated)},
                    _series_by_set(self.data.order.epochs(step), validated),
                ),
            }
        )
        reporter.raise_failure()
        uploader.raise_failure()

    def series(self) -> Series:
        """Of the newest step."""
        names = self.optimizer_step.objective.series
        return {name: _finite(value) for name, value in zip(names, self.newest.series.tolist(), strict=True)}

    def _save(self, uploader: CheckpointUploader, is_stopping: bool) -> None:
        is_due = is_stopping or self.state.step % self.plan.args.save_steps == 0
        if is_due and not self.validation.ends_run:
            self._save_checkpoint(uploader)

    def _stop(self, uploader: CheckpointUploader) -> None:
        log(f"Stopping after step {self.state.step}")
        if not uploader.finish(GRACE_S):
            log("The checkpoint was not uploaded before the grace period ended")

    def _keep_finished_steps(self, uploader: CheckpointUploader) -> None:
        """Saves the steps before the one that did not come about."""
        if self.state.step != self._saved_step:
            self._save_checkpoint(uploader)
        uploader.finish(GRACE_S)

    def _save_checkpoint(self, uploader: CheckpointUploader) -> None:
        """Skips a checkpoint that the disk has no room for: ending the run would cost more."""
        state, step, newest = self.state, self.state.step, self.newest
        unreported = (self._finite_loss(), float(newest.grad_norm), *newest.series.tolist())
        self.validation.store()
        state.unreported = unreported if self.validation.is_due else None
        folder = self.plan.work_dir / f"checkpoint-{step}"
        try:
            save_checkpoint(folder, self.model, self.optimizer, state, self.plan.origin)
            save_references(folder, self.references)
            if self.start is not None:
                self.start.save(folder)
            if self.best is not None:
                self.best.save(folder)
        except CANNOT_WRITE as error:
            log(f"The checkpoint of step {step} cannot be written and is skipped: {error}")
            shutil.rmtree(folder, ignore_errors=True)
        else:
            self._saved_step = step
            uploader.submit(step, folder)

    def _finite_loss(self) -> float:
        """The loss of the newest step."""
        loss = float(self.newest.loss)
        if not math.isfinite(loss):
            step = self.state.step
            raise Diverged(f"The training diverged: at step {step} the loss is {loss}. Use a lower learning_rate.")
        return loss

    def _remaining_s(self, iter_time: float) -> float:
        per_step = self._clock.seconds_per_step or iter_time
        steps_left = self.data.total_steps - self.state.step
        return steps_left * per_step + self.validation.left * self._clock.seconds_aside


def _unreported(state: RunState, series_count: int) -> StepOutcome:
    """The newest step of a checkpoint, whose validation a stop prevented; not a number where there is none. A
    checkpoint of an earlier release has fewer series.
    """
    stored = state.unreported or ()
    loss, grad_norm, *series = [*stored, *[math.nan] * (2 + series_count - len(stored))]
    return StepOutcome(torch.tensor(loss), torch.tensor(series), torch.tensor(grad_norm), 0)


def _validated_series(validated: Validated | None) -> Series:
    if validated is None:
        return {}
    series = {f"valid_{name}": _finite(value) for name, value in validated.series.items()}
    loss = {} if validated.loss is None else {"valid_loss": _finite(validated.loss)}
    return {**loss, **series, "valid_rows": validated.row_count}


def _seen(validated: Validated) -> str:
    named = validated.series if validated.loss is None else {"loss": validated.loss}
    return "".join(f", held-out {name} {value:.4f}" for name, value in named.items())


def _series_by_set(epochs: dict[str, float], validated: Validated | None) -> Series:
    """Of several data sets: the passes over each so far, and its held-out loss or reward."""
    held_out = {} if validated is None else validated.by_set
    return {
        **{f"epoch/{name}": passes for name, passes in epochs.items()},
        **{f"valid_{name}": _finite(value) for name, value in held_out.items()},
    }


def _reported(series: Series, by_set: Series) -> dict[str, Any]:
    """Some figures are fields of a report, the others are named in one field."""
    fields: dict[str, Any] = {name: series.pop(name) for name in FIELDS if name in series}
    return {**fields, "series": {**series, **by_set}}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
