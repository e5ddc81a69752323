"""Judges a run by its losses: which step is the best, whether to stop, and what to tell the user."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from anneal_runtime.trainer.training_args import TrainingArgs

# Losses of earlier steps say too little to warn of.
FEWEST_STEPS = 20


@dataclass(frozen=True)
class Look:
    """Means at one step: `loss` over the steps since the look before, `valid_loss` over held-out rows, if any."""

    step: int
    loss: float
    valid_loss: float | None


@dataclass
class Trend:
    """All that later looks need to know of earlier ones. It is stored in every checkpoint."""

    looked_at: int = 0
    first_loss: float | None = None
    lowest_loss: float | None = None
    best_valid_loss: float | None = None
    best_step: int = 0
    loss_at_best: float = 0.0
    last_valid_loss: float | None = None
    # The held-out loss that the next one has to beat by `min_delta`, and the number of looks in a row that did not.
    valid_loss_to_beat: float | None = None
    looks_without_gain: int = 0
    looks_above_best: int = 0
    told: list[str] = field(default_factory=list)

    def add(self, look: Look, min_delta: float) -> bool:
        """True for the lowest held-out loss so far."""
        self.looked_at = look.step
        if self.first_loss is None:
            self.first_loss = look.loss
        if look.valid_loss is None:
            return False
        self.last_valid_loss = look.valid_loss
        if not math.isfinite(look.valid_loss):
            self.looks_without_gain += 1
            return False
        if self.valid_loss_to_beat is None or look.valid_loss < self.valid_loss_to_beat - min_delta:
            self.valid_loss_to_beat, self.looks_without_gain = look.valid_loss, 0
        else:
            self.looks_without_gain += 1
        is_best = self.best_valid_loss is None or look.valid_loss < self.best_valid_loss
        if is_best:
            self.best_valid_loss, self.best_step, self.loss_at_best = look.valid_loss, look.step, look.loss
        self.looks_above_best = 0 if is_best else self.looks_above_best + 1
        return is_best

    def news(self, look: Look, args: TrainingArgs, total_steps: int) -> list[tuple[str, str]]:
        """Code and sentence of what has not been told yet. Call it after `add`."""
        found = [
            ("valid_loss_not_finite", self._not_finite(look)),
            ("overfitting", self._overfitting(look, args.keep)),
            ("loss_rising", self._rising(look, args.learning_rate)),
            ("loss_flat", self._flat(look, total_steps, args.learning_rate)),
        ]
        self.lowest_loss = look.loss if self.lowest_loss is None else min(self.lowest_loss, look.loss)
        news = [(code, message) for code, message in found if message is not None and code not in self.told]
        self.told += [code for code, _ in news]
        return news

    def _not_finite(self, look: Look) -> str | None:
        if look.valid_loss is None or math.isfinite(look.valid_loss):
            return None
        return (
            f"At step {look.step} the held-out loss is {look.valid_loss}: the training diverges. Lower learning_rate."
        )

    def _overfitting(self, look: Look, keep: str) -> str | None:
        best, valid = self.best_valid_loss, look.valid_loss
        if best is None or valid is None or self.looks_above_best < 2 or look.loss >= self.loss_at_best:
            return None
        if not valid > best * 1.05 + 0.01:
            return None
        advice = "Train for fewer steps, add rows or lower r_value."
        if keep != "best":
            advice += ' keep: "best" publishes the best step, and early_stopping ends such a run.'
        return (
            f"Overfitting: since step {self.best_step} the held-out loss rose from {best:.3f} to {valid:.3f}, and the "
            f"training loss fell from {self.loss_at_best:.3f} to {look.loss:.3f} at step {look.step}. {advice}"
        )

    def _rising(self, look: Look, learning_rate: float) -> str | None:
        lowest = self.lowest_loss
        if lowest is None or look.step < FEWEST_STEPS or look.loss < 1.5 * lowest or look.loss < lowest + 0.5:
            return None
        return (
            f"The training diverges: its loss rose from {lowest:.3f} to {look.loss:.3f} at step {look.step}. "
            f"Lower learning_rate (now {learning_rate:g}) or set warmup_steps."
        )

    def _flat(self, look: Look, total_steps: int, learning_rate: float) -> str | None:
        """Judged from half of the run on. A loss near zero has nowhere to fall."""
        first = self.first_loss
        if first is None or first < 0.1 or look.step < max(FEWEST_STEPS, total_steps / 2):
            return None
        if not 0.98 * first < look.loss < 1.5 * first:
            return None
        return (
            f"The training loss hardly changes: {first:.3f} at first, {look.loss:.3f} at step {look.step}. "
            f"Raise learning_rate (now {learning_rate:g}), and check that each output follows from its input."
        )


def stopped_early(trend: Trend, step: int, total_steps: int, args: TrainingArgs) -> str:
    gain = f" by more than {args.min_delta:g}" if args.min_delta > 0 else ""
    return (
        f"Stopped early, after step {step} of {total_steps}: the last {args.patience} validations did not lower the "
        f"held-out loss{gain}. {_lowest(trend)}"
    )


def best_kept(trend: Trend, step: int) -> str:
    if trend.best_step == step:
        return f"The last step is kept, step {step}: its held-out loss of {trend.best_valid_loss:.3f} is the lowest."
    last = trend.last_valid_loss
    return f"Step {trend.best_step} is kept. {_lowest(trend)} At the last step, {step}, it was {last:.3f}."


def _lowest(trend: Trend) -> str:
    if trend.best_valid_loss is None:
        return "The held-out loss was never a number."
    return f"The lowest held-out loss was {trend.best_valid_loss:.3f}, at step {trend.best_step}."
