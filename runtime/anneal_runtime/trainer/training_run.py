"""The training itself: from a loaded base to a trained adapter, resumable at every checkpoint."""

from __future__ import annotations

import math
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from anneal_runtime.log import log
from anneal_runtime.model_source import LoadedModel, context_length
from anneal_runtime.trainer.adapter import CANNOT_WRITE, Origin, add_adapter, trainable
from anneal_runtime.trainer.artifacts import CheckpointUploader
from anneal_runtime.trainer.batches import RowOrder
from anneal_runtime.trainer.checkpoint import RunState, load_checkpoint, save_checkpoint
from anneal_runtime.trainer.failures import Diverged, PeerLost
from anneal_runtime.trainer.reporter import ProgressClock, Reporter
from anneal_runtime.trainer.rows import count_rows, encode_rows
from anneal_runtime.trainer.step import OptimizerStep, StepOutcome, default_token_budget
from anneal_runtime.trainer.termination import GRACE_S, Termination
from anneal_runtime.trainer.training_args import Note, TrainingArgs, learning_rate_schedule, make_optimizer

if TYPE_CHECKING:
    from peft import PeftModel

    from anneal_runtime.trainer.distributed import Ranks

REPORT_EVERY = 10


@dataclass(frozen=True)
class Plan:
    """What to train on, and where to begin."""

    args: TrainingArgs
    origin: Origin
    data: Path
    work_dir: Path
    checkpoint: Path | None


class TrainingRun:
    def __init__(self, plan: Plan, base: LoadedModel, note: Note, ranks: Ranks | None = None) -> None:
        self._plan, self._args, self._ranks = plan, plan.args, ranks
        row_count = count_rows(plan.data)
        self._order = RowOrder(row_count, self._args.rows_per_step, self._args.seed)
        self.total_steps = self._args.total_steps(self._order.steps_per_epoch)
        max_length = _max_length(self._args, context_length(base.model), note)
        self._rows = encode_rows(plan.data, base.tokenizer, max_length, self._order.visited(self.total_steps))
        if self._rows.cut_count:
            note("rows_cut", f"{self._rows.cut_count} rows are longer than {max_length} tokens and were cut.")

        self.model: PeftModel = add_adapter(base.model, self._args, note)
        parameters = trainable(self.model)
        self._optimizer = make_optimizer(self._args, list(parameters.values()), note)
        self._learning_rate = learning_rate_schedule(self._args, self._optimizer, self.total_steps)
        self._flops_per_token = _flops_per_token(self.model)
        device = next(iter(parameters.values())).device
        self._state = RunState(token_budget=default_token_budget(self._rows, self._args.batch_size, device))
        # Dropout starts from the seed, however many numbers the adapter's making took.
        torch.manual_seed(self._args.seed)
        if plan.checkpoint is not None:
            self._state = load_checkpoint(plan.checkpoint, self.model, self._optimizer, plan.origin.spec_hash)
            log(f"Resuming after step {self._state.step}")
        self._step = OptimizerStep(
            self.model,
            self._rows,
            self._optimizer,
            list(parameters.values()),
            token_budget=self._state.token_budget,
            max_grad_norm=self._args.max_grad_norm,
            ranks=ranks,
        )
        if ranks is not None:
            ranks.start_together(list(parameters.values()))
            idle = ranks.world_size - self._args.rows_per_step
            if idle > 0:
                note(
                    "processes_idle",
                    f"{idle} of {ranks.world_size} processes idle: a step has fewer rows than processes.",
                )

    def train(self, reporter: Reporter, uploader: CheckpointUploader, termination: Termination) -> bool:
        """False when SIGTERM ended it early; its checkpoint is then committed."""
        self.model.train()
        clock = ProgressClock(self._state.seconds_per_step)
        outcome = None
        while self._state.step < self.total_steps:
            try:
                outcome = self._advance()
            except PeerLost:
                if outcome is not None:
                    self._save_what_is_done(outcome, uploader)
                raise
            stopping = termination.requested if self._ranks is None else self._ranks.stop_agreed
            clock.step_done()
            last = self._state.step == self.total_steps
            if self._state.step % REPORT_EVERY == 0 or last:
                self._report(outcome, clock, reporter)
                reporter.raise_failure()
                uploader.raise_failure()
            due = self._state.step % self._args.save_steps == 0
            if not last and (due or stopping):
                _refuse_divergence(outcome, self._state.step)
                self._save_checkpoint(uploader)
            if stopping and not last:
                log(f"Stopping after step {self._state.step}")
                if not uploader.finish(GRACE_S):
                    log("The checkpoint was not uploaded before the grace period ended")
                return False
        return True

    def follow(self) -> bool:
        """Runs the same steps as `train` of rank 0, without reports. False when the ranks agreed to stop."""
        self.model.train()
        while self._state.step < self.total_steps:
            self._advance()
            if self._ranks is not None and self._ranks.stop_agreed and self._state.step < self.total_steps:
                return False
        return True

    def _save_what_is_done(self, outcome: StepOutcome, uploader: CheckpointUploader) -> None:
        """Keeps the steps before the one that the lost peer spoiled."""
        _refuse_divergence(outcome, self._state.step)
        if self._state.step % self._args.save_steps != 0:
            self._save_checkpoint(uploader)
        uploader.finish(GRACE_S)

    def _advance(self) -> StepOutcome:
        state = self._state
        if self._ranks is not None:
            self._ranks.seed_dropout(self._args.seed, state.step)
        outcome = self._step.run(self._order.rows_of(state.step), self._learning_rate(state.step))
        state.step += 1
        state.tokens_seen += outcome.token_count
        state.flops += outcome.token_count * self._flops_per_token
        state.token_budget = self._step.token_budget
        return outcome

    def _report(self, outcome: StepOutcome, clock: ProgressClock, reporter: Reporter) -> None:
        step = self._state.step
        loss = _refuse_divergence(outcome, step)
        iter_time = clock.read()
        self._state.seconds_per_step = clock.seconds_per_step
        remaining_s = (self.total_steps - step) * (clock.seconds_per_step or iter_time)
        learning_rate = self._learning_rate(step - 1)
        log(f"Step {step} of {self.total_steps}: loss {loss:.4f}, about {remaining_s:.0f} s left")
        reporter.step(
            {
                "step": step,
                "loss": loss,
                "learning_rate": learning_rate,
                "epoch": step / self._order.steps_per_epoch,
                "iter_time": iter_time,
                "flops": self._state.flops,
                "remaining_time": remaining_s,
            }
        )

    def _save_checkpoint(self, uploader: CheckpointUploader) -> None:
        """Skips a checkpoint that the disk has no room for: ending the run would cost more."""
        step = self._state.step
        folder = self._plan.work_dir / f"checkpoint-{step}"
        try:
            save_checkpoint(folder, self.model, self._optimizer, self._state, self._plan.origin)
        except CANNOT_WRITE as error:
            log(f"The checkpoint of step {step} cannot be written and is skipped: {error}")
            shutil.rmtree(folder, ignore_errors=True)
        else:
            uploader.submit(step, folder)


def _refuse_divergence(outcome: StepOutcome, step: int) -> float:
    loss = float(outcome.loss)
    if not math.isfinite(loss):
        raise Diverged(f"The training diverged: at step {step} the loss is {loss}. Use a lower learning_rate.")
    return loss


def _max_length(args: TrainingArgs, context: int, note: Note) -> int:
    if args.max_length <= context:
        return args.max_length
    note("max_length_cut", f"max_length {args.max_length} was cut to the model's context of {context} tokens.")
    return context


def _flops_per_token(model: PeftModel) -> float:
    """Forward 2 per weight, backward 2 for frozen weights and 4 for trained ones; embeddings are only looked up."""
    embedded = int(model.get_base_model().get_input_embeddings().weight.numel())
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    frozen = sum(parameter.numel() for parameter in model.parameters()) - trained - embedded
    return float(4 * max(frozen, 0) + 6 * trained)
