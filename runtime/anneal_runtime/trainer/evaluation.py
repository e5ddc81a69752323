"""Greedy answers of the base and the tuned model to the evaluation rows, side by side."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch

from anneal_runtime.model_source import context_length
from anneal_runtime.row_sequences import Row, row_prompts
from anneal_runtime.tokenization import TextEncoder, parts_of_answer, text_of
from anneal_runtime.tool_text import finish_reason
from anneal_runtime.trainer.greedy import Answer, generate
from anneal_runtime.trainer.rows import chats_of_data

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedTokenizerBase

    from anneal_runtime.trainer.answer_form import AnswerForm


@torch.inference_mode()
def evaluate(
    model: PeftModel,
    encoder: TextEncoder,
    rows: list[Row],
    max_tokens: int | None = None,
    *,
    is_open: bool = False,
    form: AnswerForm | None = None,
) -> list[dict[str, Any]]:
    """Each row as `{"input", "expected", "tuned", "base"}`, in order. With `is_open` there is no answer to expect:
    `max_tokens` alone bounds the length, and `samples` has what graders read beside the text. Answers have the `form`.
    """
    model.eval()
    context = context_length(model.get_base_model().config)
    tokenizer, prompts = encoder.tokenizer, _prompts(encoder, rows)
    expected = encoder.answers([row.answer(encoder) for row in rows])
    expected_tokens = [[0] * context] if is_open else expected
    most_new = min(new_token_limit(prompts, expected_tokens, context), max_tokens or context)
    prompts = [_fitting(ids, tokenizer, context - most_new) for ids in prompts]
    answers: dict[str, list[Answer]] = {}
    for side in ("tuned", "base"):
        with model.disable_adapter() if side == "base" else nullcontext():
            answers[side] = generate(model, prompts, end=tokenizer.eos_token_id, most_new=most_new, form=form)
    results: list[dict[str, Any]] = []
    for index, row in enumerate(rows):
        given = {side: of_side[index] for side, of_side in answers.items()}
        texts = {side: text_of(tokenizer, answer.tokens) for side, answer in given.items()}
        results.append({"input": row.input, "expected": row.expected(encoder), **texts})
        if is_open:
            results[-1]["samples"] = {side: _sample(tokenizer, row, answer) for side, answer in given.items()}
    return results


def _sample(tokenizer: PreTrainedTokenizerBase, row: Row, answer: Answer) -> dict[str, Any]:
    text, calls = parts_of_answer(tokenizer, answer.tokens, has_tools=bool(row.tools))
    reason = finish_reason("length" if answer.is_cut else "stop", calls)
    return {"finish_reason": reason, **({"output_text": text, "output_tools": calls} if calls else {})}


def _prompts(encoder: TextEncoder, rows: list[Row]) -> list[list[int]]:
    """The prompts. A plain text row gets an empty prompt, not its own text."""
    (empty,) = encoder.prompts([""])
    with chats_of_data():
        prompts = row_prompts(encoder, rows)
    return [prompt if row.input else empty for row, prompt in zip(rows, prompts, strict=True)]


def new_token_limit(prompts: list[list[int]], expected: list[list[int]], context: int) -> int:
    """Twice the longest expected answer, as base models rarely stop; long prompts push it to half the context."""
    wanted = max(64, 2 * max(map(len, expected), default=0)) + 16
    room = context - max(map(len, prompts), default=0)
    return min(wanted, max(room, context // 2))


def _fitting(ids: list[int], tokenizer: PreTrainedTokenizerBase, room: int) -> list[int]:
    """The end of a long prompt. An empty one, where the tokenizer adds no start token, begins as after a text's end."""
    if not ids:
        start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        return [start or 0]
    if len(ids) <= room:
        return ids
    return ids[:1] + ids[len(ids) - room + 1 :] if ids[0] == tokenizer.bos_token_id else ids[-room:]
