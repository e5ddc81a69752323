"""Training on judged answers (KTO): good ones become likelier and bad ones less likely, against the mean divergence
of the model from its reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from anneal_runtime.row_sequences import joined
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.objectives.losses import judgement_loss
from anneal_runtime.trainer.objectives.objective import News, Objective, Step, Sums, Unit
from anneal_runtime.trainer.objectives.reference import ReferenceLogps
from anneal_runtime.trainer.rows import EncodedRows, parted

if TYPE_CHECKING:
    from anneal_runtime.trainer.distributed import Ranks


class Judged(Objective):
    """`is_good` has the judgement of each row."""

    summed = ("rewards/chosen", "rewards/rejected", "rewards/margins", "logps/chosen", "logps/rejected", "entropy")
    known = ("kl",)
    reference: ReferenceLogps

    def __init__(
        self,
        forward: ForwardPass,
        rows: EncodedRows,
        method: Method,
        reference: ReferenceLogps,
        *,
        is_good: Sequence[bool],
        max_length: int,
    ) -> None:
        super().__init__(forward, rows)
        self.method, self.reference, self.is_good, self.max_length = method, reference, is_good, max_length

    def step(self, rows: list[int], ranks: Ranks | None = None) -> JudgedStep:
        divergence = 0.0
        if self.method["loss_type"] == "kto":
            divergence = self._divergence(self.rows.sequences(rows), ranks)
        return JudgedStep(self, rows, divergence)

    def news_of_rows(self) -> News:
        """TRL's rule: in sum, good answers should count 1 to 4/3 times as much as bad ones."""
        good, count = sum(self.is_good), len(self.is_good)
        desirable, undesirable = (float(self.method[f"{kind}_weight"]) for kind in ("desirable", "undesirable"))
        good_weight, bad_weight = good * desirable, (count - good) * undesirable
        if good_weight == 0 or bad_weight == 0 or bad_weight <= good_weight <= bad_weight * 4 / 3:
            return []
        # The middle of the range stays within it when rounded to two digits.
        factor = bad_weight * 7 / 6 / good_weight
        sentence = (
            f"Of {count} answers {good} are good. With desirable_weight {desirable:g} and undesirable_weight "
            f"{undesirable:g} the good ones count {good_weight / bad_weight:.2g} times as much as the bad ones; 1 to "
            f"1.33 times is advised. Set desirable_weight to {desirable * factor:.2g} or undesirable_weight to "
            f"{undesirable / factor:.2g}."
        )
        return [("labels_unbalanced", sentence)]

    def _divergence(self, sequences: list[int], ranks: Ranks | None) -> float:
        """Pairs each prompt with the answer of the row before it in the step, cyclically: an answer is then no likelier
        for being the prompt's own. A step of one row has no such pair.
        """
        if len(sequences) < 2:
            return 0.0
        mismatched, parts = EncodedRows(), [parted(self.rows, sequence) for sequence in sequences]
        for number, (prompt, _) in enumerate(parts):
            mismatched.add(joined(prompt, parts[number - 1][1], self.max_length))
        lengths = [mismatched.length(number) for number in range(len(sequences))]
        mine = list(range(len(sequences))) if ranks is None else ranks.share(lengths)
        total = 0.0
        if mine:
            policy = self.forward.answer_logps(mismatched, mine)
            with self.reference.model.in_place():
                total = float((policy - self.forward.answer_logps(mismatched, mine)).sum())
        if ranks is not None:
            (total,) = ranks.sum_of([total])
        return max(total / len(sequences), 0.0)


class JudgedStep(Step):
    """The loss is a mean over the step's rows, the entropy one over their learned tokens, and each other series one
    over the rows of a judgement, if there are any.
    """

    def __init__(self, objective: Judged, rows: list[int], divergence: float) -> None:
        sequences = objective.rows.sequences(rows)
        self.units = [(sequence,) for sequence in sequences]
        self.known = (divergence,)
        self._objective = objective
        self._is_good = dict(zip(sequences, (objective.is_good[row] for row in rows), strict=True))
        self._good_count = sum(self._is_good.values())
        self._learned_count = sum(objective.rows.label_count(sequence) for sequence in sequences)

    def sums(self, units: list[Unit]) -> Sums:
        objective, method = self._objective, self._objective.method
        sequences = [sequence for (sequence,) in units]
        tokens = objective.forward.token_logps(objective.rows, sequences, tells_entropy=True)
        logps = tokens.values.sum(dim=1)
        scores = logps - objective.reference.of(sequences, logps.device)
        is_good = torch.tensor([self._is_good[sequence] for sequence in sequences], device=logps.device)
        kl = logps.new_tensor(self.known[0])
        losses = judgement_loss(method["loss_type"], scores, is_good, beta=method["beta"], kl=kl)
        weights = torch.where(is_good, float(method["desirable_weight"]), float(method["undesirable_weight"]))
        series = self._series(scores.detach(), logps.detach(), is_good)
        entropy = (tokens.entropy / self._learned_count).reshape(1)
        return Sums((weights * losses).sum() / len(self.units), torch.cat([series, entropy]))

    def _series(self, scores: torch.Tensor, logps: torch.Tensor, is_good: torch.Tensor) -> torch.Tensor:
        good_count, bad_count = self._good_count, len(self.units) - self._good_count

        def means(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            """Not a number if the step has no row of the judgement."""
            nothing = values.new_tensor(torch.nan)
            good = values[is_good].sum() / good_count if good_count else nothing
            return good, values[~is_good].sum() / bad_count if bad_count else nothing

        chosen, rejected = means(self._objective.method["beta"] * scores)
        return torch.stack([chosen, rejected, chosen - rejected, *means(logps)])
