"""What the series of a preference training say about it, as pure functions of means over the steps between two
validations.
"""

from __future__ import annotations

from anneal_runtime.trainer.objectives.objective import Window
from anneal_runtime.trainer.trend import FEWEST_STEPS

LOGPS = ("logps/chosen", "logps/rejected")


def saturated(window: Window) -> str | None:
    """Judged in the first half of the run: later there is little left to save."""
    accuracy = window.series["rewards/accuracies"]
    if window.step * 2 >= window.total_steps or accuracy < 0.99 or window.loss >= 0.05:
        return None
    return (
        f"Little is left to learn from these pairs: at step {window.step} of {window.total_steps} the model orders "
        f"{accuracy:.1%} of them rightly, and the loss is {window.loss:.3f}. Train for fewer steps, lower "
        f"learning_rate, or add pairs whose answers are closer to each other."
    )


def start_of(series: dict[str, float], beta: float) -> dict[str, float]:
    """The figures that the model had at the start of the job for the rows of `series`, for a loss with a reference."""
    logps = {name: series[name] - series[name.replace("logps", "rewards")] / beta for name in LOGPS}
    return {**logps, "rewards/margins": 0.0}


def chosen_falls(window: Window, start: dict[str, float]) -> str | None:
    """The chosen answer has lost more than a tenth of its log-probability, plus 0.1, and the margin has grown."""
    if window.step < FEWEST_STEPS or window.series["rewards/margins"] <= start["rewards/margins"]:
        return None
    (chosen, rejected), (chosen_before, rejected_before) = (
        [of[name] for name in LOGPS] for of in (window.series, start)
    )
    if not chosen < chosen_before - 0.1 * abs(chosen_before) - 0.1:
        return None
    return (
        f"The margin grows only because both answers become less likely: at step {window.step} the log-probability of "
        f"the chosen ones is {chosen:.2f} (at the start {chosen_before:.2f}), that of the rejected ones "
        f"{rejected:.2f} (at the start {rejected_before:.2f}). Set sft_weight, such as 1, or lower learning_rate."
    )
