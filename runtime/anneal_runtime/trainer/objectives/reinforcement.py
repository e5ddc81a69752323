"""Policy gradient on rewarded answers (GRPO and its variants): an update on answers that were sampled before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from anneal_runtime.trainer.answer_rows import Rewarded
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.objectives.advantages import Clipping, divergence, group_advantages, policy_loss, spread
from anneal_runtime.trainer.objectives.objective import Objective, Step, Sums, Unit
from anneal_runtime.trainer.objectives.reference import StartingModel

if TYPE_CHECKING:
    from anneal_runtime.trainer.distributed import Ranks

# A group whose rewards differ by less teaches nothing.
LEAST_DIFFERENCE = 1e-8


class Reinforcement(Objective):
    """`start` is None without `kl_coefficient`."""

    summed = ("clip_ratio/low_mean", "clip_ratio/high_mean", "clip_ratio/region_mean", "kl")
    known: tuple[str, ...] = (
        *("reward", "reward_std", "frac_reward_zero_std"),
        *("completions/mean_length", "completions/clipped_ratio"),
    )
    rows: Rewarded

    def __init__(self, forward: ForwardPass, rows: Rewarded, method: Method, start: StartingModel | None) -> None:
        super().__init__(forward, rows)
        self.method, self._start = method, start
        self._batch: list[int] = []
        self.old: dict[int, torch.Tensor] = {}
        self.at_start: dict[int, torch.Tensor] = {}
        # By sequence: how often each token counts, where another program than the trainer has drawn it.
        self.to_sampler: dict[int, torch.Tensor] = {}

    def step(self, rows: list[int], ranks: Ranks | None = None) -> Step:
        """The log-probabilities before the first update on these rows serve all updates on them."""
        del ranks
        if rows != self._batch:
            self._batch, sequences = rows, self.rows.sequences(rows)
            self.old = self._logps(sequences)
            self.keep_start(sequences)
        return ReinforcementStep(self, rows)

    def keep_start(self, sequences: list[int]) -> None:
        """Remembers what the model at the start gives to these answers, where the model is held near it."""
        if self._start is not None:
            with self._start.in_place():
                self.at_start = self._logps(sequences)

    def _logps(self, sequences: list[int]) -> dict[int, torch.Tensor]:
        return dict(zip(sequences, self.forward.answer_token_logps(self.rows, sequences), strict=True))


class ReinforcementStep(Step):
    def __init__(self, objective: Reinforcement, rows: list[int]) -> None:
        self._objective, method, encoded = objective, objective.method, objective.rows
        sequences = encoded.sequences(rows)
        rewards = torch.tensor([encoded.rewards[row] for row in rows], dtype=torch.float32)
        is_flat = spread(rewards) < LEAST_DIFFERENCE
        # Rounding may leave a trace where rewards are equal. The trace would cost passes.
        advantages = group_advantages(rewards, method["scale_rewards"]).masked_fill(is_flat, 0.0).reshape(-1).tolist()
        learned = [not method["mask_truncated"] or encoded.ended[sequence] for sequence in sequences]
        self._advantages = dict(zip(sequences, advantages, strict=True))
        # Answers without an advantage cost no pass, unless they are held near the start.
        self.units = [
            (sequence,)
            for sequence, is_learned in zip(sequences, learned, strict=True)
            if is_learned and (method["kl_coefficient"] or self._advantages[sequence])
        ]
        counts = [encoded.label_count(sequence) for sequence in sequences]
        self._answer_count = len(sequences)
        self._token_count = max(sum(count for count, is_learned in zip(counts, learned, strict=True) if is_learned), 1)
        everything = rewards.reshape(1, -1)
        self.known = (
            float(torch.nanmean(everything)),
            float(spread(everything)),
            float(is_flat.float().mean()),
            sum(counts) / len(counts),
            1 - sum(encoded.ended[sequence] for sequence in sequences) / len(sequences),
        )

    def sums(self, units: list[Unit]) -> Sums:
        objective, method = self._objective, self._objective.method
        sequences = [sequence for (sequence,) in units]
        tokens = objective.forward.token_logps(objective.rows, sequences)
        mask = tokens.is_learned
        advantages = tokens.values.new_tensor([[self._advantages[sequence]] for sequence in sequences])
        clipping = Clipping(method["loss_type"], method["epsilon"], method["epsilon_high"])
        policy = policy_loss(tokens.values, _laid_out(objective.old, sequences, mask), mask, advantages, clipping)
        loss, kl = policy.loss, torch.zeros_like(policy.loss)
        if objective.to_sampler:
            loss = loss * _laid_out(objective.to_sampler, sequences, mask)
        if method["kl_coefficient"]:
            kl = divergence(tokens.values, _laid_out(objective.at_start, sequences, mask), policy.ratio)
            loss = loss + method["kl_coefficient"] * kl
        shares = self._shares(mask)
        low, high = policy.clipped_low.float(), policy.clipped_high.float()
        by_answer = method["loss_type"] == "gspo"
        told = self._per_answer(mask) if by_answer else mask / self._token_count
        figures = ((low, told), (high, told), (low + high, told), (kl.detach(), mask / self._token_count))
        return Sums((loss * shares).sum(), torch.stack([(figure * weight).sum() for figure, weight in figures]))

    def _shares(self, mask: torch.Tensor) -> torch.Tensor:
        """How much each token counts in the loss."""
        loss_type = self._objective.method["loss_type"]
        if loss_type in ("grpo", "gspo"):
            return self._per_answer(mask)
        if loss_type == "dr_grpo":
            return mask / (self._answer_count * int(self._objective.method["max_completion_tokens"]))
        return mask / self._token_count

    def _per_answer(self, mask: torch.Tensor) -> torch.Tensor:
        return mask / mask.sum(dim=1, keepdim=True).clamp(min=1) / self._answer_count


def _laid_out(logps: dict[int, torch.Tensor], sequences: list[int], mask: torch.Tensor) -> torch.Tensor:
    """[sequences, positions], 0 where nothing is learned."""
    values = torch.cat([logps[sequence] for sequence in sequences])
    return values.new_zeros(mask.shape).masked_scatter(mask, values)
