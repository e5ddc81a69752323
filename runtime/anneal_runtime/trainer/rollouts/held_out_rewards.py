"""The mean reward of answers to held-out prompts, sampled and graded as those of the training."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from math import sqrt

import torch

from anneal_runtime.trainer.held_out import HeldOutPart, Validated
from anneal_runtime.trainer.objectives.advantages import spread
from anneal_runtime.trainer.rollouts.collect import Collector
from anneal_runtime.trainer.rollouts.record import Line


@dataclass(frozen=True)
class HeldOutRewards:
    """`used` are places of prompts. With several data sets they are those of the `parts`, one after the other. `step`
    is the number of updates done.
    """

    collector: Collector
    used: list[int]
    parts: list[HeldOutPart]
    step: Callable[[], int]

    def measure(self, stop_requested: Callable[[], bool]) -> Validated:
        """With several data sets, the mean by their weights. It is not a number when a set has no score: a mean without
        that set compares with no other. Raises EndsBetweenSteps.
        """
        lines = iter(self.collector.collect("held_out", self.step(), self.used, stop_requested).rewards)
        parts = self.parts or [HeldOutPart("", 1.0, self.used)]
        scores = [_scores(islice(lines, len(part.used))) for part in parts]
        means = [float(each.mean()) for each in scores]
        reward = sum(part.share * mean for part, mean in zip(parts, means, strict=True))
        errors = [part.share * _standard_error(each) for part, each in zip(parts, scores, strict=True)]
        by_set = {f"reward/{part.name}": mean for part, mean in zip(self.parts, means, strict=False)}
        figures = {"reward": reward, "reward_error": sqrt(sum(error**2 for error in errors))}
        return Validated(None, {"reward": reward}, len(self.used), by_set, figures)


def _standard_error(scores: torch.Tensor) -> float:
    return float(spread(scores)) / sqrt(max(scores.numel(), 1))


def _scores(lines: Iterable[Line]) -> torch.Tensor:
    """[1, answers that were scored]."""
    rewards = [reward for line in lines for reward in line["rewards"] if reward is not None]
    return torch.tensor([rewards], dtype=torch.float64)
