"""The training itself: from a loaded base to a trained adapter, resumable at every checkpoint."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from anneal_runtime.log import log
from anneal_runtime.model_source import LoadedModel, context_length
from anneal_runtime.tokenization import TextEncoder
from anneal_runtime.trainer.adapter import CANNOT_WRITE, Origin, add_adapter, continue_adapter, trainable
from anneal_runtime.trainer.artifacts import CheckpointUploader
from anneal_runtime.trainer.batches import RowOrder
from anneal_runtime.trainer.best_adapter import BestAdapter
from anneal_runtime.trainer.checkpoint import RunState, load_checkpoint, save_checkpoint
from anneal_runtime.trainer.failures import DataError, Diverged, PeerLost
from anneal_runtime.trainer.forward import default_token_budget
from anneal_runtime.trainer.looks import Looks
from anneal_runtime.trainer.reporter import ProgressClock, Reporter
from anneal_runtime.trainer.rows import EncodedRows, count_rows, encode_rows
from anneal_runtime.trainer.step import OptimizerStep, StepOutcome, flops_per_token
from anneal_runtime.trainer.termination import GRACE_S, Termination
from anneal_runtime.trainer.training_args import Note, TrainingArgs, learning_rate_schedule, make_optimizer
from anneal_runtime.trainer.validation import HeldOut, Validated, Validation, load_held_out, rows_wanted

if TYPE_CHECKING:
    from peft import PeftModel

    from anneal_runtime.trainer.distributed import Ranks

REPORT_EVERY = 10
NO_HELD_OUT_ROWS = (
    'This job has no held-out rows, so keep: "best" and early_stopping have no effect. Send eval_data, or at least 200 '
    "distinct rows."
)


@dataclass(frozen=True)
class Plan:
    """What to train on, and where to begin. `held_out` is None without rows that are not trained on."""

    args: TrainingArgs
    origin: Origin
    data: Path
    held_out: Path | None
    work_dir: Path
    checkpoint: Path | None
    # The adapter to begin from; None makes a new one.
    start: Path | None


class TrainingRun:
    def __init__(self, plan: Plan, base: LoadedModel, note: Note, ranks: Ranks | None = None) -> None:
        self._plan, self._args, self._note, self._ranks = plan, plan.args, note, ranks
        row_count = count_rows(plan.data)
        self._order = RowOrder(row_count, self._args.rows_per_step, self._args.seed)
        self.total_steps = self._args.total_steps(self._order.steps_per_epoch)
        context = context_length(base.model.config)
        max_length = _max_length(self._args, context, note)
        encoder = TextEncoder(base.tokenizer, special_tokens=self._args.special_tokens)
        self._rows = encode_rows(plan.data, encoder, max_length, self._order.visited(self.total_steps))
        self.truncated_rows = self._rows.cut_count
        if self._rows.cut_count:
            note("rows_cut", _rows_cut(self._rows, max_length, context))
        held_out = self._held_out(encoder, max_length)

        self.model: PeftModel = (
            add_adapter(base.model, self._args, note)
            if plan.start is None
            else continue_adapter(base.model, plan.start, self._args)
        )
        parameters = trainable(self.model)
        self._optimizer = make_optimizer(self._args, list(parameters.values()), note)
        self._learning_rate = learning_rate_schedule(self._args, self._optimizer, self.total_steps)
        self._flops_per_token = flops_per_token(self.model)
        device = next(iter(parameters.values())).device
        self._state = RunState(token_budget=default_token_budget(self._rows, self._args.batch_size, device))
        keeps_best = held_out is not None and self._args.keep == "best" and (ranks is None or ranks.rank == 0)
        self._best = BestAdapter(self.model) if keeps_best else None
        # Dropout starts from the seed, however many numbers the adapter's making took.
        torch.manual_seed(self._args.seed)
        if plan.checkpoint is not None:
            self._state = load_checkpoint(plan.checkpoint, self.model, self._optimizer, plan.origin.spec_hash)
            if self._best is not None:
                self._best.load(plan.checkpoint)
            log(f"Resuming after step {self._state.step}")
        self._saved_step = self._state.step
        self._clock = ProgressClock(self._state.seconds_per_step)
        self._step = OptimizerStep(
            self.model,
            self._rows,
            self._optimizer,
            list(parameters.values()),
            token_budget=self._state.token_budget,
            max_grad_norm=self._args.max_grad_norm,
            ranks=ranks,
        )
        self._looks = Looks(
            self._args,
            self.total_steps,
            self._state,
            validation=None if held_out is None else Validation(self.model, self._step.forward, held_out, ranks),
            best=self._best,
            note=note,
        )
        if ranks is not None:
            ranks.start_together(list(parameters.values()))
            idle = ranks.world_size - self._args.rows_per_step
            if idle > 0:
                note(
                    "processes_idle",
                    f"{idle} of {ranks.world_size} processes are idle, because a step has fewer rows.",
                )

    def train(self, reporter: Reporter, uploader: CheckpointUploader, termination: Termination) -> bool:
        """False when SIGTERM ended it early; its checkpoint is then committed."""
        self.model.train()
        self._clock = ProgressClock(self._state.seconds_per_step)
        ranks, outcome = self._ranks, self._unreported()

        def stop_requested() -> bool:
            return termination.requested if ranks is None else ranks.stop_agreed

        while not self._looks.is_over:
            try:
                if outcome is None or not self._looks.are_due:
                    outcome = self._advance()
                validated = self._look(outcome, stop_requested) if self._looks.are_due else None
            except PeerLost:
                if outcome is not None:
                    self._save_what_is_done(outcome, uploader)
                raise
            step, last = self._state.step, self._looks.is_over
            stopping = stop_requested()
            if not self._looks.are_due and (validated is not None or step % REPORT_EVERY == 0 or last):
                self._report(outcome, validated, reporter)
                reporter.raise_failure()
                uploader.raise_failure()
            if not last and (stopping or step % self._args.save_steps == 0):
                self._save_checkpoint(outcome, uploader)
            if stopping and not last:
                log(f"Stopping after step {step}")
                if not uploader.finish(GRACE_S):
                    log("The checkpoint was not uploaded before the grace period ended")
                return False
        return True

    def follow(self, ranks: Ranks) -> bool:
        """Runs the same steps as `train` of rank 0, without reports. False when the ranks agreed to stop."""
        self.model.train()
        outcome = self._unreported()
        while not self._looks.is_over:
            if outcome is None or not self._looks.are_due:
                outcome = self._advance()
            if self._looks.are_due:
                self._look(outcome, lambda: ranks.stop_agreed)
            if ranks.stop_agreed and not self._looks.is_over:
                return False
        return True

    def settle(self) -> int:
        """Makes the model the one to publish, after the training. Returns its step."""
        return self._looks.settle()

    def _held_out(self, encoder: TextEncoder, max_length: int) -> HeldOut | None:
        if self._plan.held_out is None:
            if self._args.decides_by_validation:
                self._note("validation_impossible", NO_HELD_OUT_ROWS)
            return None
        try:
            every = self._args.steps_between_looks(self.total_steps)
            trained_between = every * self._args.rows_per_step
            count = rows_wanted(trained_between, self._args.decides_by_validation)
            held_out = load_held_out(self._plan.held_out, encoder, max_length, count)
        except DataError as error:
            self._note("validation_impossible", f"The held-out rows are not used while training. {error}")
            return None
        log(f"Validating every {every} steps on {len(held_out.used)} of {held_out.available} held-out rows")
        return held_out

    def _save_what_is_done(self, outcome: StepOutcome, uploader: CheckpointUploader) -> None:
        """Keeps the steps before the one that the lost peer spoiled."""
        if self._state.step != self._saved_step:
            self._save_checkpoint(outcome, uploader)
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
        self._looks.add(outcome.loss)
        self._clock.step_done(outcome.token_count)
        return outcome

    def _look(self, outcome: StepOutcome, stop_requested: Callable[[], bool]) -> Validated | None:
        _refuse_divergence(outcome, self._state.step)
        return self._looks.look(self._clock.aside(), stop_requested)

    def _report(self, outcome: StepOutcome, validated: Validated | None, reporter: Reporter) -> None:
        step = self._state.step
        loss = _refuse_divergence(outcome, step)
        iter_time = self._clock.read()
        self._state.seconds_per_step = self._clock.seconds_per_step
        remaining_s = self._remaining_s(iter_time)
        seen = f", held-out loss {validated.loss:.4f}" if validated else ""
        log(f"Step {step} of {self.total_steps}: loss {loss:.4f}{seen}, about {remaining_s:.0f} s left")
        reporter.step(
            {
                "step": step,
                "loss": loss,
                "learning_rate": self._learning_rate(step - 1),
                "epoch": step / self._order.steps_per_epoch,
                "iter_time": iter_time,
                "flops": self._state.flops,
                "remaining_time": remaining_s,
                "tokens": self._state.tokens_seen,
                "grad_norm": _finite(float(outcome.grad_norm)),
                "tokens_per_second": self._clock.tokens_per_second,
                "token_accuracy": _finite(float(outcome.token_accuracy)),
                **_series(validated),
            }
        )

    def _remaining_s(self, iter_time: float) -> float:
        step = self._state.step
        per_step = self._clock.seconds_per_step or iter_time
        return (self.total_steps - step) * per_step + self._looks.left * self._clock.seconds_aside

    def _unreported(self) -> StepOutcome | None:
        """The newest step of the checkpoint, if a stop came before its look."""
        if self._state.unreported is None or not self._looks.are_due:
            return None
        loss, grad_norm, accuracy = self._state.unreported
        return StepOutcome(torch.tensor(loss), torch.tensor(accuracy), torch.tensor(grad_norm), 0)

    def _save_checkpoint(self, outcome: StepOutcome, uploader: CheckpointUploader) -> None:
        """Skips a checkpoint that the disk has no room for: ending the run would cost more."""
        state, step = self._state, self._state.step
        loss = _refuse_divergence(outcome, step)
        self._looks.store()
        unreported = (loss, float(outcome.grad_norm), float(outcome.token_accuracy))
        state.unreported = unreported if self._looks.are_due else None
        folder = self._plan.work_dir / f"checkpoint-{step}"
        try:
            save_checkpoint(folder, self.model, self._optimizer, state, self._plan.origin)
            if self._best is not None:
                self._best.save(folder)
        except CANNOT_WRITE as error:
            log(f"The checkpoint of step {step} cannot be written and is skipped: {error}")
            shutil.rmtree(folder, ignore_errors=True)
        else:
            self._saved_step = step
            uploader.submit(step, folder)


def _refuse_divergence(outcome: StepOutcome, step: int) -> float:
    loss = float(outcome.loss)
    if not math.isfinite(loss):
        raise Diverged(f"The training diverged: at step {step} the loss is {loss}. Use a lower learning_rate.")
    return loss


def _series(validated: Validated | None) -> dict[str, float | int | None]:
    if validated is None:
        return {}
    return {
        "valid_loss": _finite(validated.loss),
        "valid_token_accuracy": validated.token_accuracy,
        "valid_rows": validated.row_count,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _rows_cut(rows: EncodedRows, max_length: int, context: int) -> str:
    advice = f"Raise max_length (the model takes up to {context})" if max_length < context else "Shorten them"
    return f"{rows.cut_count} rows are longer than {max_length} tokens and were cut. {advice}, or split them."


def _max_length(args: TrainingArgs, context: int, note: Note) -> int:
    if args.max_length <= context:
        return args.max_length
    note("max_length_cut", f"max_length {args.max_length} was cut to the model's context of {context} tokens.")
    return context
