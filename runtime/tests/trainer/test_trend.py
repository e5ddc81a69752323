"""The judgement of a run by its losses."""

from dataclasses import replace

from support.training import USUAL_ARGS

from anneal_runtime.trainer.trend import Losses, Trend


def codes(losses: list[float], valid: list[float] | None = None, **args: object) -> list[str]:
    """Validations every 10 steps of a run that ends with the last of them."""
    trend, told = Trend(), list[str]()
    settings = replace(USUAL_ARGS, **args)  # type: ignore[arg-type]
    for number, loss in enumerate(losses):
        means = Losses((number + 1) * 10, loss, valid[number] if valid else None)
        trend.add(means, settings.min_delta)
        told += [code for code, _ in trend.news(means, settings, len(losses) * 10)]
    return told


def test_a_run_that_learns_is_not_commented_on() -> None:
    assert codes([2.0, 1.2, 0.9, 0.8, 0.75], [2.0, 1.3, 1.1, 1.0, 1.01]) == []
    assert codes([2.0, 0.4, 0.01, 0.03, 0.01]) == []


def test_a_held_out_loss_that_rises_while_the_training_loss_falls_is_overfitting_and_told_once() -> None:
    falling, rising = [2.0, 1.0, 0.5, 0.3, 0.2, 0.1], [1.9, 1.2, 1.3, 1.5, 1.8, 2.2]
    assert codes(falling, rising) == ["overfitting"]
    assert codes(falling[:3], rising[:3]) == [], "one higher value may be chance"
    assert codes([2.0, 1.0, 1.1, 1.2, 1.3], rising[:5]) == [], "both rise: not by heart"


def test_a_loss_that_leaves_its_lowest_value_far_behind_diverges() -> None:
    assert codes([2.0, 1.0, 0.6, 3.0, 4.0]) == ["loss_rising"]
    assert codes([2.0, 1.5, 1.0], [2.0, float("nan"), float("inf")]) == ["valid_loss_not_finite"]


def test_a_loss_that_does_not_move_by_half_of_the_run_is_flat() -> None:
    assert codes([2.0, 2.01, 1.99, 2.0, 1.2, 1.1]) == ["loss_flat"]
    assert codes([0.01, 0.01, 0.01, 0.01]) == [], "nothing is left to learn"
    assert codes([2.0]) == [], "too short to tell"


def test_a_gain_below_min_delta_counts_as_none_yet_the_lowest_loss_is_the_best() -> None:
    trend = Trend()
    for step, valid in enumerate([1.0, 0.95, 0.92, 0.91]):
        trend.add(Losses(step, 1.0, valid), 0.1)
    assert (trend.validations_without_gain, trend.best_step) == (3, 3)
    trend.add(Losses(4, 1.0, 0.85), 0.1)
    assert trend.validations_without_gain == 0


def test_a_figure_decides_before_the_held_out_loss_and_the_loss_only_between_two_of_the_same_figure() -> None:
    trend = Trend()
    for step, (figure, valid) in enumerate([(0.5, 0.7), (0.75, 0.9), (0.75, 0.8), (0.5, 0.1), (0.75, 0.85)]):
        trend.add(Losses(step, 1.0, valid, figure), 0.0)
    assert (trend.best_step, trend.best_figure, trend.best_valid_loss) == (2, 0.75, 0.8)
    assert trend.validations_without_gain == 2


def test_min_delta_holds_for_the_figure_that_decides() -> None:
    trend = Trend()
    for step, (figure, valid) in enumerate([(0.5, 0.7), (0.55, 0.2), (0.5, 0.65)]):
        trend.add(Losses(step, 1.0, valid, figure), 0.1)
    assert trend.validations_without_gain == 2
    trend.add(Losses(3, 1.0, 0.5, 0.5), 0.1)
    assert trend.validations_without_gain == 0


def test_a_checkpoint_of_an_earlier_release_is_continued() -> None:
    trend = Trend()
    trend.add(Losses(10, 1.0, 0.5), 0.0)
    stored = trend.to_json()
    for name in ("best_figure", "last_figure", "figure_to_beat", "window_series", "first_series"):
        del stored[name]
    assert Trend.from_json(stored) == trend
