"""Losses of preferences and judgements, as pure functions of log-probabilities. Each returns one value a row.

A score is the log-probability of an answer minus that of the reference. Papers and equations are named at each loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

# These compare mean log-probabilities of the model alone, and report them.
BY_TOKEN = ("orpo", "simpo")


@dataclass(frozen=True)
class Pairs:
    """Of each pair: the scores of both answers, and their lengths in tokens."""

    chosen: Tensor
    rejected: Tensor
    chosen_length: Tensor
    rejected_length: Tensor

    @property
    def margin(self) -> Tensor:
        return self.chosen - self.rejected

    @property
    def margin_per_token(self) -> Tensor:
        return self.chosen / self.chosen_length - self.rejected / self.rejected_length


def preference_loss(loss_type: str, pairs: Pairs, *, beta: float, smoothing: float, gamma: float) -> Tensor:
    """Raises ValueError for an unknown `loss_type`."""
    if loss_type == "sigmoid":
        return _conservative(beta * pairs.margin, smoothing)
    if loss_type == "sigmoid_norm":  # Tulu 3 (2411.15124), equation 6
        return _conservative(beta * pairs.margin_per_token, smoothing)
    if loss_type == "simpo":  # SimPO (2405.14734), equation 6
        return _conservative(beta * pairs.margin_per_token - gamma, smoothing)
    if loss_type == "robust":  # Robust DPO (2403.00409), equation 8
        right, flipped = logsigmoid(beta * pairs.margin), logsigmoid(-beta * pairs.margin)
        return (smoothing * flipped - (1 - smoothing) * right) / (1 - 2 * smoothing)
    if loss_type == "hinge":  # SLiC (2305.10425), equation 1
        return torch.relu(1 - beta * pairs.margin)
    if loss_type == "ipo":  # IPO (2310.12036), equation 17; by token, as its authors confirmed to TRL
        return (pairs.margin_per_token - 1 / (2 * beta)) ** 2
    if loss_type == "apo_zero":  # APO (2408.06266), equation 7
        return 1 - torch.sigmoid(beta * pairs.chosen) + torch.sigmoid(beta * pairs.rejected)
    if loss_type == "orpo":  # ORPO (2403.07691), equations 4 and 7
        chosen, rejected = pairs.chosen / pairs.chosen_length, pairs.rejected / pairs.rejected_length
        log_odds = chosen - rejected - (_log_of_rest(chosen) - _log_of_rest(rejected))
        return -beta * logsigmoid(log_odds)
    raise ValueError(f"There is no preference loss {loss_type}.")


def judgement_loss(loss_type: str, scores: Tensor, is_good: Tensor, *, beta: float, kl: Tensor) -> Tensor:
    """`kl` is the mean divergence from the reference over the step, at least 0. Raises ValueError as above."""
    if loss_type == "kto":  # KTO (2402.01306), equation 7
        distance = beta * (scores - kl)
    elif loss_type == "apo_zero_unpaired":  # APO (2408.06266), equation 7, of single answers
        distance = beta * scores
    else:
        raise ValueError(f"There is no loss {loss_type} of judged answers.")
    return 1 - torch.sigmoid(torch.where(is_good, distance, -distance))


def _conservative(logits: Tensor, smoothing: float) -> Tensor:
    """DPO (2305.18290), equation 7; with smoothing cDPO (https://ericmitchell.ai/cdpo.pdf), equation 3."""
    return -(1 - smoothing) * logsigmoid(logits) - smoothing * logsigmoid(-logits)


def _log_of_rest(log_probability: Tensor) -> Tensor:
    """log(1 - p), exact on both ends of (-inf, 0)."""
    near_one = torch.log(-torch.expm1(log_probability.clamp(min=-0.6931471805599453)))
    return torch.where(
        log_probability > -0.6931471805599453, near_one, torch.log1p(-torch.exp(log_probability.clamp(max=-0.5)))
    )
