"""Penalties, biases, filters and log-probabilities on the device. The rules and their order are vLLM's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import torch

from anneal_runtime.server.decoding.extras import Extras, Score

# JSON has no infinity; vLLM writes the same number.
LEAST_LOGPROB = -9999.0


class Extended(Protocol):
    extras: Extras | None
    prompt: list[int]
    output: list[int]


def scores_of(logits: torch.Tensor, tokens: torch.Tensor, count: int) -> list[Score]:
    """One for each row of [rows, vocabulary]; `tokens` holds the chosen ones."""
    mass = logits.logsumexp(dim=-1, keepdim=True)
    chosen = (logits.gather(-1, tokens[:, None]) - mass)[:, 0].tolist()
    if count == 0:
        return [Score(token, _finite(logprob), ()) for token, logprob in zip(tokens.tolist(), chosen, strict=True)]
    best = logits.topk(min(count, logits.shape[-1]), dim=-1)
    names, values = best.indices.tolist(), (best.values - mass).tolist()
    return [
        Score(token, _finite(logprob), tuple((id, _finite(value)) for id, value in zip(ids, their, strict=True)))
        for token, logprob, ids, their in zip(tokens.tolist(), chosen, names, values, strict=True)
    ]


def change_logits(logits: torch.Tensor, rows: Sequence[Extended]) -> None:
    """Applies biases and penalties to [rows, vocabulary], in place."""
    for row, own in zip(rows, logits, strict=True):
        if row.extras is not None and row.extras.changes_logits:
            _change(own, row.extras, row.prompt, row.output)


def _change(logits: torch.Tensor, extras: Extras, prompt: list[int], output: list[int]) -> None:
    if extras.logit_bias:
        ids, biases = zip(*extras.logit_bias, strict=True)
        logits[_tensor(ids, logits).long()] += _tensor(biases, logits)
    if extras.repetition_penalty != 1:
        seen = _tensor(sorted({*prompt, *output}), logits).long()
        values = logits[seen]
        logits[seen] = torch.where(values > 0, values / extras.repetition_penalty, values * extras.repetition_penalty)
    if output and (extras.presence_penalty or extras.frequency_penalty):
        ids, counts = zip(*Counter(output).items(), strict=True)
        penalties = extras.frequency_penalty * _tensor(counts, logits) + extras.presence_penalty
        logits[_tensor(ids, logits).long()] -= penalties


def filter_tokens(probabilities: torch.Tensor, rows: Sequence[Extras | None]) -> None:
    """Drops what min_p and top_k exclude from [rows, vocabulary], in place; what is left adds up to 1 again."""
    for extras, own in zip(rows, probabilities, strict=True):
        if extras is None or not (extras.min_p or extras.top_k):
            continue
        if extras.min_p:
            own.masked_fill_(own < extras.min_p * own.max(), 0.0)
        if 0 < extras.top_k < own.shape[-1]:
            own.masked_fill_(own < own.topk(extras.top_k).values[-1], 0.0)
        own /= own.sum()


def _tensor(values: Sequence[float], like: torch.Tensor) -> torch.Tensor:
    return torch.tensor(values, device=like.device, dtype=like.dtype)


def _finite(logprob: float) -> float:
    return max(logprob, LEAST_LOGPROB)
