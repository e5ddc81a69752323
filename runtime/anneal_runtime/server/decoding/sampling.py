"""The next token of each row: greedy, or drawn with the row's own temperature, top_p and random stream.

A seeded row draws one number a token from its own stream, so that its batch mates do not change what it draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from anneal_runtime.server.decoding.extras import Extras
from anneal_runtime.server.decoding.logits import filter_tokens


class Sampled(Protocol):
    temperature: float
    top_p: float
    extras: Extras | None

    def draw(self) -> float:
        """The row's next random number, in (0, 1]."""


def warmth(row: Sampled) -> float:
    """What the logits are divided by."""
    return max(row.temperature, 1e-4)


def next_tokens(logits: torch.Tensor, rows: Sequence[Sampled]) -> list[int]:
    """One token a row from [rows, vocabulary] in fp32; a negative number where the logits are not finite."""
    best, tokens = logits.max(dim=-1)
    drawn = [index for index, row in enumerate(rows) if row.temperature > 0]
    if drawn:
        chosen = torch.tensor(drawn, device=logits.device)
        picked = logits if len(drawn) == len(rows) else logits[chosen]
        tokens = tokens.index_copy(0, chosen, _draw(picked, [rows[index] for index in drawn]))
    return torch.where(torch.isfinite(best), tokens, -1).tolist()


def _draw(logits: torch.Tensor, rows: Sequence[Sampled]) -> torch.Tensor:
    temperatures = torch.tensor([warmth(row) for row in rows], device=logits.device)
    probabilities = torch.softmax(logits / temperatures[:, None], dim=-1)
    if any(row.extras is not None for row in rows):
        filter_tokens(probabilities, [row.extras for row in rows])
    nuclear = [index for index, row in enumerate(rows) if row.top_p < 1]
    if nuclear:
        chosen = torch.tensor(nuclear, device=logits.device)
        top_p = torch.tensor([rows[index].top_p for index in nuclear], device=logits.device)
        probabilities[chosen] = _nucleus(probabilities[chosen], top_p)
    mass = probabilities.cumsum(dim=-1)
    # The first token whose mass reaches the drawn share. The share is above 0, so a token of probability 0 is never it.
    shares = torch.tensor([[row.draw()] for row in rows], device=logits.device) * mass[:, -1:]
    return torch.searchsorted(mass, shares)[:, 0].clamp(max=logits.shape[-1] - 1)


def _nucleus(probabilities: torch.Tensor, top_p: torch.Tensor) -> torch.Tensor:
    """Keeps the likeliest tokens that together reach top_p; always the first."""
    ordered, order = probabilities.sort(dim=-1, descending=True)
    before = ordered.cumsum(dim=-1) - ordered
    return torch.zeros_like(probabilities).scatter(-1, order, ordered.masked_fill(before > top_p[:, None], 0.0))
