"""Rows of one prompt with answers that are compared, judged or rewarded, as tokens."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from anneal_runtime.row_sequences import NOT_LEARNED, AnswerRow, Row, Sequence, encode_answers
from anneal_runtime.tokenization import TextEncoder
from anneal_runtime.tool_text import Message
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.rows import ROWS_AT_ONCE, EncodedRows, chats_of_data, read_lines, read_rows


def read_answer_rows(path: Path) -> Iterator[AnswerRow]:
    """Raises DataError."""
    return read_lines(path, AnswerRow.from_line)


def rows_to_ask(path: Path, method: Method) -> Iterator[Row]:
    """The rows of an evaluation, with the answers that are wanted: a bad answer is none."""
    if method.type == "supervised":
        return read_rows(path)
    if method.type == "reinforcement":
        return read_lines(path, _asked_alone)
    return (_asked(row) for row in read_answer_rows(path) if row.is_good is not False)


def items_of(path: Path) -> Iterator[dict[str, Any]]:
    """What the graders read of each prompt."""
    return read_lines(path, lambda raw: dict(raw["item"]))


def _asked_alone(raw: dict[str, Any]) -> Row:
    messages = list(raw.get("messages", []))
    return Row(
        _read_text("" if messages else str(raw["input"]), messages), "", messages, tools=list(raw.get("tools") or [])
    )


def _read_text(text: str, messages: list[Message]) -> str:
    return text or "\n".join(f"{said['role']}: {said['content']}" for said in messages)


def _asked(row: AnswerRow) -> Row:
    wanted = row.answers[0]
    message = {"role": "assistant", "content": wanted} if isinstance(wanted, str) else wanted
    text = _read_text(row.input, row.messages)
    calling = message if message.get("tool_calls") else None
    return Row(text, str(message["content"]), row.messages, [], calling, row.tools)


def encode_answer_rows(
    rows: Iterator[AnswerRow],
    encoder: TextEncoder,
    max_length: int,
    *,
    overlong: str = "drop",
    learns_chosen_prompt: bool = False,
    path: Path | None = None,
) -> tuple[EncodedRows, list[bool]]:
    """The rows that are not left out, and the judgement of each. Each answer of a row is learned, in a sequence of its
    own. With `learns_chosen_prompt` the first sequence teaches the prompt, too. `path` is the file of the rows, for
    messages. Raises DataError without any row.
    """
    encoded, judgements = EncodedRows(path, encoder.tokenizer.eos_token_id), list[bool]()
    while chunk := list(islice(rows, ROWS_AT_ONCE)):
        with chats_of_data():
            whole = encode_answers(encoder, chunk, max_length, learns_chosen_prompt=learns_chosen_prompt)
        for row, found in zip(chunk, whole, strict=True):
            if encoded.take(found, overlong):
                judgements.append(bool(row.is_good))
    encoded.check_dropped(max_length, overlong)
    return encoded, judgements


class Rewarded(EncodedRows):
    """A row is a group: a sequence for each answer to one prompt. `rewards` has the rewards of each group; that of an
    answer that was not scored is not a number. `ended` says of each sequence whether its answer ended by itself.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rewards: list[list[float]] = []
        self.ended: list[bool] = []


def encode_rollouts(path: Path, encoder: TextEncoder, max_length: int) -> Rewarded:
    """Lines of `input` or `messages`, with `answers` and `rewards`, which are null for answers that were not scored."""
    rewarded = Rewarded()
    for raw in read_lines(path, lambda raw: raw):
        row = AnswerRow(list(raw["answers"]), str(raw.get("input", "")), list(raw.get("messages", [])))
        with chats_of_data():
            (encoded,) = encode_answers(encoder, [row])
        sequences = encoded.sequences
        rewarded.add(*(_cut(sequence, max_length) for sequence in sequences))
        rewarded.ended += [len(tokens) <= max_length for tokens, _ in sequences]
        rewarded.rewards.append([math.nan if reward is None else float(reward) for reward in raw["rewards"]])
    return rewarded


def _cut(sequence: Sequence, max_length: int) -> Sequence:
    tokens, labels = sequence
    return sequence if len(tokens) <= max_length else (tokens[:max_length], [*labels[: max_length - 1], NOT_LEARNED])
