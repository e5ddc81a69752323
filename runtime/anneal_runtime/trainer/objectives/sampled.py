"""Policy gradient on answers that the model samples itself: each batch of answers serves `num_iterations` updates."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from anneal_runtime.trainer.answer_rows import Rewarded
from anneal_runtime.trainer.failures import GraderFailed
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.objectives.advantages import spread
from anneal_runtime.trainer.objectives.objective import News, Step, Sums, Unit, Window
from anneal_runtime.trainer.objectives.reference import StartingModel
from anneal_runtime.trainer.objectives.reinforcement import Reinforcement, ReinforcementStep
from anneal_runtime.trainer.objectives.reward_news import news_of_rewards
from anneal_runtime.trainer.rollouts.collect import Collected, Collector, sequence_of
from anneal_runtime.trainer.rollouts.grade import errors_of, said

if TYPE_CHECKING:
    from anneal_runtime.trainer.distributed import Ranks

# Batches in a row that may lose every difference between rewards to errors.
MOST_WITHOUT_SPREAD = 3
PARTS = ("sampling", "grading", "training")
# A token that the trainer finds likelier than the server that drew it counts at most so many times.
LARGEST_RATIO_TO_SAMPLER = 3.0


class SampledReinforcement(Reinforcement):
    decisive = "reward"
    loss_tells = False

    def __init__(self, method: Method, start: StartingModel | None, collector: Collector, graders: list[str]) -> None:
        super().__init__(collector.forward, Rewarded(), method, start)
        self.graders, self.collector = graders, collector
        self.known = (
            *Reinforcement.known,
            *("entropy", "sampling/importance_sampling_ratio/mean", "frac_reward_unscored"),
            *(f"rewards/{name}/{figure}" for name in graders for figure in ("mean", "std", "unscored")),
            *(f"step_seconds/{part}" for part in PARTS),
        )
        # The number of the update that sampled what is learned from.
        self._sampled_for = 0
        self._figures: tuple[float, ...] = ()
        self._seconds = (0.0, 0.0)

    def before_step(self, number: int, rows: list[int], stop_requested: Callable[[], bool]) -> None:
        first = number - (number - 1) % self.method.updates_per_batch
        self._seconds = (0.0, 0.0)
        if first != self._sampled_for:
            collected = self.collector.collect("train", first, rows, stop_requested, is_past=first < number)
            self._learn_from(rows, collected)
            if first == number:
                self._seconds = (collected.sampling_s, collected.grading_s)
                self._count_errors(first, collected)
            self._sampled_for = first

    def step(self, rows: list[int], ranks: Ranks | None = None) -> SampledStep:
        del ranks
        inner = ReinforcementStep(self, list(range(len(rows))))
        return SampledStep(inner, (*inner.known, *self._figures, *self._seconds))

    def news(self, window: Window) -> News:
        return news_of_rewards(window, self.memory, self.graders, self.method)

    def _learn_from(self, rows: list[int], collected: Collected) -> None:
        encoded, old = Rewarded(), list[torch.Tensor]()
        prompts = self.collector.prompts["train"]
        for row, group, line in zip(rows, collected.samples, collected.rewards, strict=True):
            samples = group["samples"]
            encoded.add(*(sequence_of(prompts[row].tokens, sample["tokens"]) for sample in samples))
            encoded.ended += [sample["finish_reason"] != "length" for sample in samples]
            encoded.rewards.append([_number(reward) for reward in line["rewards"]])
            old += [torch.tensor(sample["old_logps"], device=self.forward.device) for sample in samples]
        self.rows, self.old = encoded, dict(enumerate(old))
        self.keep_start(list(self.old))
        ratio = _ratio_to_sampler(collected, old)
        if self.method["rollouts"] == "server":
            ratio = ratio.clamp(max=LARGEST_RATIO_TO_SAMPLER)
            parts = torch.split(ratio.to(self.forward.device), [len(logps) for logps in old])
            self.to_sampler = dict(enumerate(parts))
        self._figures = (*_figures(collected, old, ratio), *_scores(collected, self.graders))

    def _count_errors(self, step: int, collected: Collected) -> None:
        """Remembers the first error for the news. Raises GraderFailed when errors leave nothing to learn from."""
        errors = errors_of(collected.samples, collected.rewards)
        if errors and "first_error" not in self.memory:
            self.memory["first_error"] = f"Step {step}: {said(*errors[0])}"
        rewards = torch.tensor(self.rows.rewards)
        has_spread = bool((spread(rewards) > 0).any())
        by_errors = all(any(line["errors"]) for line in collected.rewards)
        flat_for = 0 if has_spread or not by_errors else self.memory.get("steps_without_spread", 0) + 1
        if flat_for >= MOST_WITHOUT_SPREAD:
            raise GraderFailed(
                f"In {flat_for} batches of answers in a row, up to step {step}, every group of answers has errors of "
                f"graders, and none has rewards that differ. {said(*errors[0])}"
            )
        self.memory["steps_without_spread"] = flat_for


class SampledStep(Step):
    """`known` ends with the seconds of the update so far."""

    def __init__(self, inner: ReinforcementStep, known: tuple[float, ...]) -> None:
        self._inner, self._known, self._since = inner, known, time.monotonic()
        self.units = inner.units

    def sums(self, units: list[Unit]) -> Sums:
        return self._inner.sums(units)

    @property
    def known(self) -> tuple[float, ...]:  # type: ignore[override]
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return (*self._known, time.monotonic() - self._since)


def _number(reward: float | None) -> float:
    return torch.nan if reward is None else float(reward)


def _ratio_to_sampler(collected: Collected, old: list[torch.Tensor]) -> torch.Tensor:
    """Of each token of each answer, one after the other."""
    samples = [sample for group in collected.samples for sample in group["samples"]]
    return torch.exp(torch.cat(old).cpu() - torch.tensor([logp for sample in samples for logp in sample["logps"]]))


def _figures(collected: Collected, old: list[torch.Tensor], ratio: torch.Tensor) -> tuple[float, float, float]:
    """Entropy, ratio to the sampler, share of answers without a score. The entropy is the mean of what the tokens'
    log-probabilities say of it: they were drawn from the distribution whose entropy it is.
    """
    errors = [error for line in collected.rewards for error in line["errors"]]
    unscored = sum(error is not None for error in errors) / len(errors)
    return -float(torch.cat(old).cpu().mean()), float(ratio.mean()), unscored


def _scores(collected: Collected, graders: list[str]) -> list[float]:
    """Mean, spread and share without a score, by grader."""
    grades = [grade for line in collected.rewards for grade in line["grades"]]
    found: list[float] = []
    for name in graders:
        scores = torch.tensor([[_number(grade.get(name)) for grade in grades]])
        found += [float(torch.nanmean(scores)), float(spread(scores)), float(torch.isnan(scores).float().mean())]
    return found
