"""The mean reward of answers to held-out prompts, sampled and graded as those of the training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from anneal_runtime.trainer.held_out import Validated
from anneal_runtime.trainer.objectives.advantages import spread
from anneal_runtime.trainer.rollouts.collect import Collector


@dataclass(frozen=True)
class HeldOutRewards:
    """`used` are places of prompts. `step` is the number of updates done."""

    collector: Collector
    used: list[int]
    step: Callable[[], int]

    def measure(self, stop_requested: Callable[[], bool]) -> Validated:
        """Raises EndsBetweenSteps."""
        collected = self.collector.collect("held_out", self.step(), self.used, stop_requested)
        rewards = [reward for line in collected.rewards for reward in line["rewards"] if reward is not None]
        values = torch.tensor([rewards], dtype=torch.float64)
        figures = {"reward": float(values.mean()), "reward_std": float(spread(values)), "answers": float(len(rewards))}
        return Validated(None, {"reward": figures["reward"]}, len(self.used), figures)
