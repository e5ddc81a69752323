"""Whether a model finds the better answer of a pair likelier than the other one: of the tuned model and its base."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from anneal_runtime.model_source import context_length
from anneal_runtime.row_sequences import AnswerRow
from anneal_runtime.tokenization import TextEncoder
from anneal_runtime.trainer.answer_rows import encode_answer_rows
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.rows import EncodedRows

if TYPE_CHECKING:
    from peft import PeftModel

Order = dict[str, bool]


def pair_orders(
    model: PeftModel, encoder: TextEncoder, pairs: list[AnswerRow], *, by_token: bool
) -> list[Order | None]:
    """`{"tuned", "base"}` of each pair, in order; None for one that is longer than the model's context. They compare
    the log-probabilities of whole answers, or with `by_token` the means over the tokens.
    """
    if not pairs:
        return []
    rows, _ = encode_answer_rows(iter(pairs), encoder, sys.maxsize)
    context = context_length(model.get_base_model().config)
    fitting = [
        number
        for number in range(len(pairs))
        if max(rows.length(sequence) for sequence in rows.sequences([number])) <= context
    ]
    orders: list[Order | None] = [None] * len(pairs)
    if not fitting:
        return orders
    forward = ForwardPass(model)
    tuned = _prefers_chosen(forward, rows, fitting, by_token)
    with model.disable_adapter():
        base = _prefers_chosen(forward, rows, fitting, by_token)
    for number, ours, theirs in zip(fitting, tuned, base, strict=True):
        orders[number] = {"tuned": ours, "base": theirs}
    return orders


def _prefers_chosen(forward: ForwardPass, rows: EncodedRows, pairs: list[int], by_token: bool) -> list[bool]:
    sequences = rows.sequences(pairs)
    logps = forward.answer_logps(rows, sequences).tolist()
    if by_token:
        logps = [logp / rows.label_count(sequence) for logp, sequence in zip(logps, sequences, strict=True)]
    return [chosen > rejected for chosen, rejected in zip(logps[0::2], logps[1::2], strict=True)]
