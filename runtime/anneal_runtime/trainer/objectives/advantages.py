"""Advantages of sampled answers, and the policy gradient's losses. Pure functions on tensors.

Sources: DeepSeekMath (2402.03300) for grpo, DAPO (2503.14476), Dr. GRPO (2503.20783), GSPO (2507.18071),
MiniMax-M1 (2506.13585) for cispo.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

# Keeps an advantage finite if all answers of a group have nearly the same reward.
LEAST_SPREAD = 1e-4


def group_advantages(rewards: Tensor, scale: str) -> Tensor:
    """`rewards` are [groups, answers], not a number if an answer was not scored: such an answer gets 0 and does not
    count in its group's mean. `scale` divides by the spread of the group, of the batch, or not at all.
    """
    centred = rewards - torch.nanmean(rewards, dim=1, keepdim=True)
    if scale == "group":
        centred = centred / (spread(rewards) + LEAST_SPREAD)
    elif scale == "batch":
        centred = centred / (spread(rewards.reshape(1, -1)) + LEAST_SPREAD)
    return torch.nan_to_num(centred, nan=0.0)


def spread(rewards: Tensor) -> Tensor:
    """The standard deviation of each line with n - 1, without the answers that were not scored: [lines, 1]."""
    count = (~torch.isnan(rewards)).sum(dim=1, keepdim=True)
    centred = torch.nan_to_num(rewards - torch.nanmean(rewards, dim=1, keepdim=True), nan=0.0)
    return torch.sqrt((centred**2).sum(dim=1, keepdim=True) / (count - 1).clamp(min=1))


@dataclass(frozen=True)
class Clipping:
    loss_type: str
    low: float
    high: float


@dataclass(frozen=True)
class PolicyLoss:
    """All [answers, tokens]; with `gspo` the ratio is one of the whole answer, which stands at each of its tokens."""

    loss: Tensor
    ratio: Tensor
    clipped_low: Tensor
    clipped_high: Tensor


def policy_loss(logps: Tensor, old_logps: Tensor, mask: Tensor, advantages: Tensor, clipping: Clipping) -> PolicyLoss:
    """`logps` and `old_logps` are [answers, tokens] and 0 where `mask` is False; `advantages` are [answers, 1]."""
    log_ratio = logps - old_logps
    if clipping.loss_type == "gspo":  # GSPO, equation 7
        lengths = mask.sum(dim=1, keepdim=True).clamp(min=1)
        log_ratio = (log_ratio.sum(dim=1, keepdim=True) / lengths).expand_as(mask)
    ratio = torch.exp(log_ratio)
    if clipping.loss_type == "cispo":  # MiniMax-M1, equations 4 and 5
        clipped_high = (ratio > clipping.high) & (advantages > 0)
        loss = -torch.clamp(ratio, max=clipping.high).detach() * advantages * logps
        return PolicyLoss(loss, ratio, torch.zeros_like(clipped_high), clipped_high)
    bounded = torch.clamp(ratio, 1 - clipping.low, 1 + clipping.high)
    loss = -torch.min(ratio * advantages, bounded * advantages)
    clipped_low = (ratio < 1 - clipping.low) & (advantages < 0)
    return PolicyLoss(loss, ratio, clipped_low, (ratio > 1 + clipping.high) & (advantages > 0))


def divergence(logps: Tensor, reference_logps: Tensor, ratio: Tensor) -> Tensor:
    """The k3 estimate of the KL divergence from the reference, corrected by the ratio to the sampling policy."""
    difference = reference_logps - logps
    return (torch.exp(difference) - difference - 1) * ratio
