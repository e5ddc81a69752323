"""Rows of one prompt with answers that are compared, judged or rewarded, as tokens."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from anneal_runtime.tokenization import TextEncoder
from anneal_runtime.tool_text import Message
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.rows import (
    ROWS_AT_ONCE,
    EncodedRows,
    Row,
    chat_prompts,
    fitting,
    joined,
    labelled,
    read_lines,
    read_rows,
)

# A text, or one message of the assistant, which may call functions.
Answer = str | Message


@dataclass(frozen=True)
class AnswerRow:
    """With `messages` the prompt is these by the model's chat template. `is_good` judges a single answer."""

    answers: list[Answer]
    input: str = ""
    messages: list[Message] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    is_good: bool | None = None


def read_answer_rows(path: Path) -> Iterator[AnswerRow]:
    """Lines of `input` or `messages`, with `chosen` and `rejected`, or with `answer` and `label`. Raises DataError."""
    return read_lines(path, _read)


def _read(raw: dict[str, Any]) -> AnswerRow:
    is_judged = "answer" in raw
    answers = [raw["answer"]] if is_judged else [raw["chosen"], raw["rejected"]]
    is_good = bool(raw["label"]) if is_judged else None
    # A list holds one message.
    answers = [answer[0] if isinstance(answer, list) else answer for answer in answers]
    messages, tools = list(raw.get("messages", [])), list(raw.get("tools") or [])
    return AnswerRow(answers, str(raw.get("input", "")), messages, tools, is_good)


def rows_to_ask(path: Path, method: Method) -> Iterator[Row]:
    """The rows of an evaluation, with the answers that are wanted: a bad answer is none."""
    if method.type == "supervised":
        return read_rows(path)
    return (_asked(row) for row in read_answer_rows(path) if row.is_good is not False)


def _asked(row: AnswerRow) -> Row:
    wanted = row.answers[0]
    message = {"role": "assistant", "content": wanted} if isinstance(wanted, str) else wanted
    text = row.input or "\n".join(f"{said['role']}: {said['content']}" for said in row.messages)
    calling = message if message.get("tool_calls") else None
    return Row(text, str(message["content"]), row.messages, [], calling, row.tools)


def encode_answer_rows(
    rows: Iterator[AnswerRow],
    encoder: TextEncoder,
    max_length: int,
    *,
    overlong: str = "drop",
    learns_chosen_prompt: bool = False,
) -> tuple[EncodedRows, list[bool]]:
    """The rows that are not left out, and the judgement of each. Each answer of a row is learned, in a sequence of its
    own. With `learns_chosen_prompt` the first sequence teaches the prompt, too. Raises DataError without any row.
    """
    encoded, judgements = EncodedRows(), list[bool]()
    bos = encoder.tokenizer.bos_token_id
    while chunk := list(islice(rows, ROWS_AT_ONCE)):
        texts = iter(encoder.answers([_text(encoder, answer) for row in chunk for answer in row.answers]))
        for row, prompt in zip(chunk, _prompts(encoder, chunk), strict=True):
            answers = [next(texts) for _ in row.answers]
            longest = max(map(len, answers))
            if len(prompt) + longest > max_length:
                # One token holds no prompt with an answer.
                if overlong != "cut" or max_length < 2:
                    encoded.drop()
                    continue
                # The same prompt for all answers of the row: they are compared.
                prompt = fitting(prompt, longest, max_length, bos)
                encoded.cut_count += 1
            sequences = [joined(prompt, answer, max_length) for answer in answers]
            if learns_chosen_prompt:
                sequences[0] = labelled(sequences[0][0], 1)
            encoded.add(*sequences)
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
        (prompt,) = _prompts(encoder, [row])
        answers = encoder.answers([_text(encoder, answer) for answer in row.answers])
        rewarded.add(*(labelled((prompt + answer)[:max_length], len(prompt)) for answer in answers))
        rewarded.ended += [len(prompt) + len(answer) <= max_length for answer in answers]
        rewarded.rewards.append([math.nan if reward is None else float(reward) for reward in raw["rewards"]])
    return rewarded


def _text(encoder: TextEncoder, answer: Answer) -> str:
    return answer if isinstance(answer, str) else encoder.call(answer)


def _prompts(encoder: TextEncoder, rows: list[AnswerRow]) -> list[list[int]]:
    chats = [row for row in rows if row.messages]
    of_chats = iter(chat_prompts(encoder, [row.messages for row in chats], [row.tools for row in chats]))
    of_texts = iter(encoder.prompts([encoder.prompt(row.input) for row in rows if not row.messages]))
    return [next(of_chats) if row.messages else next(of_texts) for row in rows]
