"""What the series of a reinforcement training say, from numbers alone."""

from typing import Any

import pytest
from support.rollouts import method

from anneal_runtime.trainer.objectives.objective import Window
from anneal_runtime.trainer.objectives.reward_news import news_of_rewards

USUAL = {
    "reward": 0.5,
    "frac_reward_zero_std": 0.1,
    "frac_reward_unscored": 0.0,
    "completions/mean_length": 20.0,
    "completions/clipped_ratio": 0.0,
    "entropy": 1.0,
    "rewards/right/mean": 0.5,
    "rewards/right/std": 0.2,
    "rewards/short/mean": 0.5,
    "rewards/short/std": 0.2,
}


def window(step: int, valid: float | None = None, **changed: float) -> Window:
    named = {name.replace("__", "/"): value for name, value in changed.items()}
    held_out = {} if valid is None else {"reward": valid, "reward_error": 0.025}
    return Window(step, 100, 0.0, {**USUAL, **named}, USUAL, held_out)


def news(*windows: Window, memory: dict[str, Any] | None = None) -> dict[str, str]:
    kept, found = {} if memory is None else memory, dict[str, str]()
    for each in windows:
        found |= dict(news_of_rewards(each, kept, ["right", "short"], method()))
    return found


def test_a_usual_training_says_nothing() -> None:
    assert news(window(10, 0.4), window(20, 0.5, reward=0.6), window(30, 0.45, reward=0.7)) == {}


@pytest.mark.parametrize(
    ("code", "changed", "figure"),
    [
        ("answers_cut", {"completions__clipped_ratio": 0.3}, "30%"),
        ("entropy_collapsed", {"entropy": 0.09}, "0.0900"),
        ("length_drift", {"completions__mean_length": 60.0}, "60 tokens"),
        ("reward_without_gain", {"rewards__right__mean": 0.3, "rewards__short__mean": 0.8}, '"short" went from 0.500'),
    ],
)
def test_each_figure_is_told_with_what_to_try(code: str, changed: dict[str, float], figure: str) -> None:
    found = news(window(10, **changed))
    assert list(found) == [code] and figure in found[code]


def test_one_flat_validation_is_no_news() -> None:
    flat = {"frac_reward_zero_std": 0.9}
    assert news(window(10, **flat)) == {}
    assert list(news(window(10, **flat), window(20, **flat))) == ["no_signal"]


def test_a_reward_that_rises_in_training_alone_is_told_at_the_second_validation() -> None:
    memory: dict[str, Any] = {}
    assert news(window(10, 0.6), window(20, 0.4, reward=0.7), memory=memory) == {}
    found = news(window(30, 0.4, reward=0.8), memory=memory)
    assert "from 0.600 to 0.400" in found["reward_without_gain"]
    # Within the error of a mean, and with a training that does not rise either, it is noise.
    assert news(window(10, 0.6), window(20, 0.57, reward=0.7), window(30, 0.57, reward=0.8)) == {}
    assert news(window(10, 0.6), window(20, 0.4, reward=0.4), window(30, 0.4, reward=0.3)) == {}


def test_errors_are_told_with_the_first_one() -> None:
    assert news(window(10, frac_reward_unscored=0.25), memory={"first_error": "Step 3: it broke."}) == {
        "grader_errors": "25.0% of the answers up to step 10 got no score. Step 3: it broke."
    }
