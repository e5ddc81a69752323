"""The rate of steps, from which the time that remains is told."""

import pytest

from anneal_runtime.trainer import reporter
from anneal_runtime.trainer.reporter import ProgressClock


def rates(monkeypatch: pytest.MonkeyPatch, clock_start: float | None, seconds: list[float]) -> list[float | None]:
    now = 0.0
    monkeypatch.setattr(reporter.time, "perf_counter", lambda: now)
    clock = ProgressClock(clock_start)
    told: list[float | None] = []
    for step in seconds:
        now += step
        clock.step_done(1)
        assert clock.read() == step
        told.append(clock.seconds_per_step)
    return told


def test_the_slow_first_step_is_no_part_of_the_rate_once_a_second_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rates(monkeypatch, None, [60.0, 1.0, 2.0]) == pytest.approx([60.0, 1.0, 1.3])


def test_a_resume_keeps_the_rate_of_its_checkpoint_over_its_slow_first_step(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rates(monkeypatch, 1.0, [60.0, 2.0]) == pytest.approx([1.0, 1.3])
