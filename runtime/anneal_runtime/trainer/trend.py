"""Judges a run by its losses, and by a held-out figure that decides before them, if the objective has one: which step
is the best, whether to stop, and what to tell the user.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from anneal_runtime.trainer.training_args import TrainingArgs

# Losses of earlier steps say too little to warn of.
FEWEST_STEPS = 20
# Checkpoints have the names of release 0.1.0, so that each release continues the runs of the other.
STORED_NAMES = {
    "validated_at": "looked_at",
    "validations_without_gain": "looks_without_gain",
    "validations_above_best": "looks_above_best",
}


@dataclass(frozen=True)
class Losses:
    """Means at one validation: `loss` over the steps since the one before, `valid_loss` over held-out rows, if any."""

    step: int
    loss: float
    valid_loss: float | None
    # The held-out mean of the series that decides before the held-out loss, if there is one.
    figure: float | None = None


@dataclass
class Trend:
    """All that later validations need to know of earlier ones. Every checkpoint holds the trend."""

    validated_at: int = 0
    first_loss: float | None = None
    lowest_loss: float | None = None
    best_valid_loss: float | None = None
    best_step: int = 0
    loss_at_best: float = 0.0
    last_valid_loss: float | None = None
    # The held-out loss that the next one has to beat by `min_delta`, and the validations in a row that did not.
    valid_loss_to_beat: float | None = None
    validations_without_gain: int = 0
    validations_above_best: int = 0
    # As the held-out losses above, of the figure that decides before them. None for an objective without one.
    best_figure: float | None = None
    last_figure: float | None = None
    figure_to_beat: float | None = None
    # Sums of the series since the newest validation, and the means up to the first one.
    window_series: list[float] = field(default_factory=list)
    first_series: list[float] | None = None
    told: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {STORED_NAMES.get(name, name): value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Trend:
        """A checkpoint of an earlier release has some fields only."""
        names = {name: STORED_NAMES.get(name, name) for name in cls.__dataclass_fields__}
        return cls(**{name: stored[key] for name, key in names.items() if key in stored})

    def add(self, now: Losses, min_delta: float) -> bool:
        """True for the best step so far."""
        self.validated_at = now.step
        if self.first_loss is None:
            self.first_loss = now.loss
        if now.valid_loss is None:
            return False
        self.last_valid_loss, self.last_figure = now.valid_loss, now.figure
        figures = _lower_is_better(now.figure, now.valid_loss)
        if not all(map(math.isfinite, figures)):
            self.validations_without_gain += 1
            return False
        to_beat = self.valid_loss_to_beat
        if to_beat is None or _is_gain(figures, _lower_is_better(self.figure_to_beat, to_beat), min_delta):
            self.valid_loss_to_beat, self.figure_to_beat = now.valid_loss, now.figure
            self.validations_without_gain = 0
        else:
            self.validations_without_gain += 1
        best = self.best_valid_loss
        is_best = best is None or figures < _lower_is_better(self.best_figure, best)
        if is_best:
            self.best_valid_loss, self.best_figure = now.valid_loss, now.figure
            self.best_step, self.loss_at_best = now.step, now.loss
        self.validations_above_best = 0 if is_best else self.validations_above_best + 1
        return is_best

    def news(
        self,
        now: Losses,
        args: TrainingArgs,
        total_steps: int,
        of_objective: Sequence[tuple[str, str]] = (),
        loss_tells: bool = True,
    ) -> list[tuple[str, str]]:
        """Code and sentence of what has not been told yet. Call it after `add`."""
        found: list[tuple[str, str | None]] = [*of_objective]
        if loss_tells:
            found[:0] = [
                ("valid_loss_not_finite", self._not_finite(now)),
                ("overfitting", self._overfitting(now, args.keep)),
                ("loss_rising", self._rising(now, args.learning_rate)),
                ("loss_flat", self._flat(now, total_steps, args.learning_rate)),
            ]
        self.lowest_loss = now.loss if self.lowest_loss is None else min(self.lowest_loss, now.loss)
        news = [(code, message) for code, message in found if message is not None and code not in self.told]
        self.told += [code for code, _ in news]
        return news

    def _not_finite(self, now: Losses) -> str | None:
        if now.valid_loss is None or math.isfinite(now.valid_loss):
            return None
        return f"At step {now.step} the held-out loss is {now.valid_loss}: the training diverges. Lower learning_rate."

    def _overfitting(self, now: Losses, keep: str) -> str | None:
        best, valid = self.best_valid_loss, now.valid_loss
        if best is None or valid is None or self.validations_above_best < 2 or now.loss >= self.loss_at_best:
            return None
        if not valid > best * 1.05 + 0.01:
            return None
        advice = "Train for fewer steps, add rows or lower r_value."
        if keep != "best":
            advice += ' keep: "best" publishes the best step, and early_stopping ends such a run.'
        return (
            f"Overfitting: since step {self.best_step} the held-out loss rose from {best:.3f} to {valid:.3f}, and the "
            f"training loss fell from {self.loss_at_best:.3f} to {now.loss:.3f} at step {now.step}. {advice}"
        )

    def _rising(self, now: Losses, learning_rate: float) -> str | None:
        lowest = self.lowest_loss
        if lowest is None or now.step < FEWEST_STEPS or now.loss < 1.5 * lowest or now.loss < lowest + 0.5:
            return None
        return (
            f"The training diverges: its loss rose from {lowest:.3f} to {now.loss:.3f} at step {now.step}. "
            f"Lower learning_rate (now {learning_rate:g}) or set warmup_steps."
        )

    def _flat(self, now: Losses, total_steps: int, learning_rate: float) -> str | None:
        """Judged from half of the run on. A loss near zero has nowhere to fall."""
        first = self.first_loss
        if first is None or first < 0.1 or now.step < max(FEWEST_STEPS, total_steps / 2):
            return None
        if not 0.98 * first < now.loss < 1.5 * first:
            return None
        return (
            f"The training loss hardly changes: {first:.3f} at first, {now.loss:.3f} at step {now.step}. "
            f"Raise learning_rate (now {learning_rate:g}), and check that each output follows from its input."
        )


def _lower_is_better(figure: float | None, loss: float) -> tuple[float, ...]:
    """The first value that differs decides."""
    return (loss,) if figure is None else (-figure, loss)


def _is_gain(values: tuple[float, ...], to_beat: tuple[float, ...], min_delta: float) -> bool:
    for value, other in zip(values, to_beat, strict=False):
        if value != other:
            return value < other - min_delta
    return False


@dataclass(frozen=True)
class Words:
    """What decides between steps: the objective's `decisive`, and the held-out loss, if there is one."""

    decisive: str | None
    has_loss: bool = True

    @property
    def missed(self) -> str:
        if self.decisive is None:
            return "did not lower the held-out loss"
        if not self.has_loss:
            return f"did not raise the held-out {self.decisive}"
        return f"neither raised the held-out {self.decisive} nor, at the same value, lowered the held-out loss"

    def of(self, figure: float | None, loss: float | None) -> str:
        if self.decisive is None or figure is None:
            return f"{loss:.3f}"
        return f"{figure:.3f} with a loss of {loss:.3f}" if self.has_loss else f"{figure:.3f}"

    def at_best(self, figure: float | None, loss: float | None) -> str:
        if self.decisive is None or figure is None:
            return f"its held-out loss of {loss:.3f} is the lowest"
        if not self.has_loss:
            return f"its held-out {self.decisive} of {figure:.3f} is the best"
        return f"its held-out {self.decisive} of {figure:.3f} and loss of {loss:.3f} are the best"


def stopped_early(trend: Trend, step: int, total_steps: int, args: TrainingArgs, words: Words) -> str:
    gain = f" by more than {args.min_delta:g}" if args.min_delta > 0 else ""
    return (
        f"Stopped early, after step {step} of {total_steps}: the last {args.patience} validations "
        f"{words.missed}{gain}. {_best(trend, words)}"
    )


def best_kept(trend: Trend, step: int, words: Words) -> str:
    if trend.best_step == step:
        at_best = words.at_best(trend.best_figure, trend.best_valid_loss)
        return f"The last step is kept, step {step}: {at_best}."
    last = words.of(trend.last_figure, trend.last_valid_loss)
    return f"Step {trend.best_step} is kept. {_best(trend, words)} At the last step, {step}, it was {last}."


def _best(trend: Trend, words: Words) -> str:
    if trend.best_valid_loss is None:
        return "The held-out loss was never a number."
    which = "lowest held-out loss" if words.decisive is None else f"best held-out {words.decisive}"
    return f"The {which} was {words.of(trend.best_figure, trend.best_valid_loss)}, at step {trend.best_step}."
