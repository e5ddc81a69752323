"""Rows of a prompt alone, whose answers the model samples while it is trained."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from anneal_runtime.row_sequences import AnswerRow, EncodedRow, answer_prompts, fitting, joined
from anneal_runtime.tokenization import TextEncoder
from anneal_runtime.tool_text import Message
from anneal_runtime.trainer.rows import ROWS_AT_ONCE, EncodedRows, chats_of_data, read_lines


class PromptRows(EncodedRows):
    """Each row has a token of an answer behind its prompt, so that the longest one has room for it."""

    def counts(self) -> dict[str, int | bool]:
        counts = super().counts()
        return {**counts, "tokens": counts["tokens"] - counts["learned"], "learned": 0}


@dataclass(frozen=True)
class Prompt:
    """`row` is its line in the file, from 0. `item` is what graders read beside the answer."""

    row: int
    tokens: list[int]
    shown: str | list[Message]
    item: dict[str, Any]
    tools: list[dict[str, Any]]


def encode_prompts(
    path: Path, encoder: TextEncoder, max_length: int, overlong: str
) -> tuple[EncodedRows, list[Prompt]]:
    """The prompts that are not left out, and their tokens with one for an answer. Raises DataError without any."""
    prompts, rows = list[Prompt](), PromptRows(path)
    lines = enumerate(read_lines(path, _prompt_of))
    while chunk := list(islice(lines, ROWS_AT_ONCE)):
        with chats_of_data():
            encoded = answer_prompts(encoder, [row for _, (row, _) in chunk])
        for (number, (row, item)), tokens in zip(chunk, encoded, strict=True):
            kept = fitting(encoder, tokens, 1, max_length)
            sequence = joined(kept, [0], max_length)
            if rows.take(EncodedRow([sequence], [len(tokens) >= max_length]), overlong):
                prompts.append(Prompt(number, kept, row.messages or row.input, item, row.tools))
    rows.check_dropped(max_length, overlong)
    return rows, prompts


def _prompt_of(raw: dict[str, Any]) -> tuple[AnswerRow, dict[str, Any]]:
    return AnswerRow.of_prompt(raw), dict(raw["item"])
