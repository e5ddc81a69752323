"""What the series of a reinforcement training say about it: means over the steps between two validations."""

from __future__ import annotations

import math
from typing import Any

from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.objectives.objective import News, Window

# A grader has moved when its mean has moved by so much of its first spread.
SHARE_OF_SPREAD = 0.5
# Standard errors by which a held-out mean differs for sure.
STANDARD_ERRORS = 2.0


def news_of_rewards(window: Window, memory: dict[str, Any], graders: list[str], method: Method) -> News:
    """`memory` is what earlier validations have left."""
    found = [
        ("no_signal", _no_signal(window, memory)),
        ("reward_without_gain", _held_out_falls(window, memory) or _graders_part(window, graders)),
        ("answers_cut", _answers_cut(window, method)),
        ("entropy_collapsed", _entropy_collapsed(window)),
        ("length_drift", _length_drift(window)),
        ("grader_errors", _grader_errors(window, memory)),
    ]
    return [(code, sentence) for code, sentence in found if sentence is not None]


def _no_signal(window: Window, memory: dict[str, Any]) -> str | None:
    flat = window.series["frac_reward_zero_std"]
    memory["flat_validations"] = memory.get("flat_validations", 0) + (flat >= 0.9)
    if flat < 0.9 or memory["flat_validations"] < 2:
        return None
    return (
        f"There is little to learn from: up to step {window.step} all answers to a prompt had the same reward in "
        f"{flat:.0%} of the groups; the mean reward is {window.series['reward']:.3g}. The rows are too easy or too "
        "hard for this model, or the grader gives everything the same score. Try other rows, a grader with degrees, or "
        "more samples_per_prompt."
    )


def _held_out_falls(window: Window, memory: dict[str, Any]) -> str | None:
    """The held-out reward is below its best at two validations in a row, and that of the training above its value
    there.
    """
    valid, reward = window.held_out.get("reward", math.nan), window.series["reward"]
    if not (math.isfinite(valid) and math.isfinite(reward)):
        return None
    best = memory.get("best")
    if best is None or valid >= best["valid"]:
        memory["best"], memory["below_best"] = {"valid": valid, "reward": reward, "step": window.step}, 0
        return None
    error = STANDARD_ERRORS * window.held_out["reward_error"]
    is_below = valid < best["valid"] - max(error, 1e-6) and reward > best["reward"]
    memory["below_best"] = memory["below_best"] + 1 if is_below else 0
    if memory["below_best"] < 2:
        return None
    return (
        f"The reward of the training rises and that of held-out rows falls: from step {best['step']} to step "
        f"{window.step} the first rose from {best['reward']:.3f} to {reward:.3f}, and the second fell from "
        f"{best['valid']:.3f} to {valid:.3f}. Read the samples: the model may have found an answer that pleases the "
        'grader only. keep: "best" publishes the best step.'
    )


def _graders_part(window: Window, graders: list[str]) -> str | None:
    moved: dict[str, float] = {}
    for name in graders:
        mean, spread = f"rewards/{name}/mean", window.first.get(f"rewards/{name}/std", 0.0)
        change = window.series[mean] - window.first.get(mean, math.nan)
        if math.isfinite(change) and abs(change) > max(SHARE_OF_SPREAD * spread, 0.05):
            moved[name] = change
    if not moved or max(moved.values()) < 0 or min(moved.values()) > 0:
        return None
    up, down = max(moved, key=moved.__getitem__), min(moved, key=moved.__getitem__)
    figures = [f"rewards/{name}/mean" for name in (up, down)]
    (rose_from, fell_from), (rose_to, fell_to) = (
        [of[name] for name in figures] for of in (window.first, window.series)
    )
    return (
        f'One grader rises while another falls: up to step {window.step} the score of "{up}" went from '
        f'{rose_from:.3f} to {rose_to:.3f}, and that of "{down}" from {fell_from:.3f} to {fell_to:.3f}. Read the '
        "samples, and weigh the graders anew if this is not what you want."
    )


def _answers_cut(window: Window, method: Method) -> str | None:
    share = window.series["completions/clipped_ratio"]
    if share < 0.3:
        return None
    return (
        f"{share:.0%} of the answers up to step {window.step} were cut off after {method['max_completion_tokens']} "
        "tokens. Raise max_completion_tokens, reward short answers, or set mask_truncated so that these teach nothing."
    )


def _entropy_collapsed(window: Window) -> str | None:
    first, now = window.first.get("entropy", 0.0), window.series["entropy"]
    if not now < first / 10:
        return None
    return (
        f"The answers to a prompt have become alike: at step {window.step} the entropy of a token is {now:.4f}, at "
        f"first it was {first:.4f}. Lower learning_rate, raise temperature or epsilon_high, or set kl_coefficient."
    )


def _length_drift(window: Window) -> str | None:
    first, now = (of.get("completions/mean_length", math.nan) for of in (window.first, window.series))
    if not now >= 3 * first:
        return None
    return (
        f"The answers grow: at step {window.step} they have {now:.0f} tokens on average, at first {first:.0f}. Reward "
        "short answers if length earns nothing, or try loss_type dr_grpo, which does not favour long ones."
    )


def _grader_errors(window: Window, memory: dict[str, Any]) -> str | None:
    share, first = window.series["frac_reward_unscored"], memory.get("first_error")
    if not share > 0 or first is None:
        return None
    return f"{share:.1%} of the answers up to step {window.step} got no score. {first}"
