"""Preference optimization: of two answers to one prompt the model learns to prefer the chosen one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.objectives.losses import BY_TOKEN, Pairs, preference_loss
from anneal_runtime.trainer.objectives.objective import News, Objective, Step, Sums, Unit, Window
from anneal_runtime.trainer.objectives.preference_news import chosen_falls, saturated, start_of
from anneal_runtime.trainer.objectives.reference import ReferenceLogps
from anneal_runtime.trainer.rows import EncodedRows

if TYPE_CHECKING:
    from anneal_runtime.trainer.distributed import Ranks

# Passes of other shapes round a log-probability in fp32 by up to this share.
ROUNDING = 1e-6


class Preference(Objective):
    """A row has two sequences, the chosen and the rejected answer. `reference` is None for a loss without one."""

    summed = (
        *("rewards/chosen", "rewards/rejected", "rewards/margins", "rewards/accuracies"),
        *("logps/chosen", "logps/rejected", "entropy"),
    )
    decisive = "rewards/accuracies"

    def __init__(
        self, forward: ForwardPass, rows: EncodedRows, method: Method, reference: ReferenceLogps | None
    ) -> None:
        super().__init__(forward, rows)
        self.method, self.reference = method, reference
        # ORPO's supervised part covers prompt and answer, as in the paper's code.
        self.supervised_weight = 1.0 if method["loss_type"] == "orpo" else float(method["sft_weight"])

    def step(self, rows: list[int], ranks: Ranks | None = None) -> PreferenceStep:
        del ranks
        return PreferenceStep(self, [tuple(self.rows.sequences([row])) for row in rows])

    def news(self, window: Window) -> News:
        start = window.first
        if self.reference is not None:
            start = start_of(window.series, self.method["beta"])
        found = {"preference_saturated": saturated(window), "chosen_falls": chosen_falls(window, start)}
        return [(code, sentence) for code, sentence in found.items() if sentence is not None]


class PreferenceStep(Step):
    """The preference loss and the series are means over the step's pairs, the supervised part and the entropy over
    learned tokens.
    """

    def __init__(self, objective: Preference, units: list[Unit]) -> None:
        self.units = units
        self._objective = objective
        self._supervised_count = sum(objective.rows.label_count(chosen) for chosen, _ in units)
        self._learned_count = sum(objective.rows.label_count(sequence) for unit in units for sequence in unit)

    def sums(self, units: list[Unit]) -> Sums:
        objective, method = self._objective, self._objective.method
        sequences = [sequence for unit in units for sequence in unit]
        tokens = objective.forward.token_logps(objective.rows, sequences, tells_entropy=True)
        is_answer = _answers(tokens.is_learned)
        logps, lengths = (tokens.values * is_answer).sum(dim=1), is_answer.sum(dim=1)
        scores = logps if objective.reference is None else logps - objective.reference.of(sequences, logps.device)
        pairs = Pairs(scores[0::2], scores[1::2], lengths[0::2], lengths[1::2])
        losses = preference_loss(
            method["loss_type"],
            pairs,
            beta=method["beta"],
            smoothing=method["label_smoothing"],
            gamma=method["simpo_gamma"],
        )
        loss = losses.sum() / len(self.units)
        if objective.supervised_weight:
            chosen = tokens.values[0::2].sum() / self._supervised_count
            loss = loss - objective.supervised_weight * chosen
        series = self._series(scores.detach(), logps.detach(), lengths)
        return Sums(loss, torch.cat([series, (tokens.entropy / self._learned_count).reshape(1)]))

    def _series(self, scores: torch.Tensor, logps: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        if self._objective.method["loss_type"] in BY_TOKEN:
            scores, logps = scores / lengths, logps / lengths
        rewards = self._objective.method["beta"] * scores
        chosen, rejected = rewards[0::2], rewards[1::2]
        margins = chosen - rejected
        # At the first step both rewards are 0 but for rounding.
        rounding = self._objective.method["beta"] * ROUNDING * (logps[0::2] + logps[1::2]).abs()
        figures = (chosen, rejected, margins, (margins > rounding).float(), logps[0::2], logps[1::2])
        return torch.stack([figure.sum() for figure in figures]) / len(self.units)


def _answers(is_learned: torch.Tensor) -> torch.Tensor:
    """The learned tokens of the answers. A chosen sequence may teach its prompt, too; the rejected one has the same
    prompt and does not teach it.
    """
    positions = torch.arange(is_learned.size(1), device=is_learned.device)
    first = is_learned[1::2].float().argmax(dim=1).repeat_interleave(2)
    return is_learned & (positions >= first.unsqueeze(1))
