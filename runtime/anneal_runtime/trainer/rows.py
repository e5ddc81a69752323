"""Rows of a data file as tokens: cut to length, with the place where the learned part begins."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from anneal_runtime.tokenization import ChatRefused, chat_tokens, completion_tokens, prompt_tokens
from anneal_runtime.trainer.failures import DataError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ROWS_AT_ONCE = 1000


@dataclass(frozen=True)
class Row:
    """With `messages` the prompt is these by the model's chat template, and `input` their plain text, to be read."""

    input: str
    output: str
    messages: list[dict[str, str]] = field(default_factory=list)


class EncodedRows:
    """Tokens of many rows in one flat array. Rows that the run never visits are not encoded and have length 0."""

    def __init__(self) -> None:
        self._tokens = array("i")
        self._starts = [0]
        self._first_targets = array("i")
        self.cut_count = 0

    def __len__(self) -> int:
        return len(self._first_targets)

    def length(self, index: int) -> int:
        return self._starts[index + 1] - self._starts[index]

    def tokens(self, index: int) -> torch.Tensor:
        return torch.tensor(self._tokens[self._starts[index] : self._starts[index + 1]], dtype=torch.long)

    def first_target(self, index: int) -> int:
        """Position of the first token that is learned; always at least 1, as something must predict it."""
        return self._first_targets[index]

    def add(self, tokens: list[int], first_target: int) -> None:
        self._tokens.extend(tokens)
        self._starts.append(len(self._tokens))
        self._first_targets.append(first_target)


def read_rows(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                raw = json.loads(line)
                yield Row(str(raw["input"]), str(raw["output"]), list(raw.get("messages", [])))
            except (ValueError, KeyError, TypeError) as error:
                raise DataError(f"Line {number} of the data cannot be read: {error!r}.") from error


def count_rows(path: Path) -> int:
    with path.open("rb") as lines:
        return sum(1 for _ in lines)


def encode_rows(
    path: Path, tokenizer: PreTrainedTokenizerBase, max_length: int, visited: set[int] | None = None
) -> EncodedRows:
    """`visited` None means all rows. Raises DataError when nothing is left to learn."""
    encoded, chunk = EncodedRows(), list[Row]()

    def encode_chunk() -> None:
        prompts = row_prompts(tokenizer, chunk)
        answers = completion_tokens(tokenizer, [row.output if row.input else "" for row in chunk])
        for row, prompt, answer in zip(chunk, prompts, answers, strict=True):
            if row.input:
                _add_pair(encoded, prompt, answer, max_length, tokenizer.bos_token_id)
            else:
                _add_text(encoded, prompt + answer, max_length)
        chunk.clear()

    for index, row in enumerate(read_rows(path)):
        if visited is None or index in visited:
            chunk.append(row)
        else:
            encode_chunk()
            encoded.add([], 1)
        if len(chunk) == ROWS_AT_ONCE:
            encode_chunk()
    encode_chunk()
    if not any(encoded.length(index) > encoded.first_target(index) for index in range(len(encoded))):
        raise DataError("No row of the data has an output token to learn. Check the outputs and max_length.")
    return encoded


def row_prompts(tokenizer: PreTrainedTokenizerBase, rows: list[Row]) -> list[list[int]]:
    """The tokens before each answer; for a plain text row, the whole text. Raises DataError."""
    chats = [row for row in rows if row.messages]
    try:
        of_chats = iter(chat_tokens(tokenizer, [row.messages for row in chats]) if chats else [])
    except ChatRefused as error:
        raise DataError(f"The data has rows with messages. {error}") from error
    of_texts = iter(prompt_tokens(tokenizer, [row.input or row.output for row in rows if not row.messages]))
    return [next(of_chats) if row.messages else next(of_texts) for row in rows]


def _add_pair(encoded: EncodedRows, prompt: list[int], answer: list[int], max_length: int, bos: int | None) -> None:
    """Too long: the prompt keeps its end (and start token), the answer its start; a long prompt keeps at least half."""
    if len(prompt) + len(answer) > max_length:
        encoded.cut_count += 1
        room = max(max_length - len(answer), min(len(prompt), max_length // 2), 1)
        if len(prompt) > room:
            head = prompt[:1] if prompt[0] == bos and room > 1 else []
            prompt = head + prompt[len(prompt) - room + len(head) :]
        answer = answer[: max_length - len(prompt)]
    encoded.add(prompt + answer, max(len(prompt), 1))


def _add_text(encoded: EncodedRows, text: list[int], max_length: int) -> None:
    """A plain text, with its end-of-text token, is learned from its first predictable token on."""
    if len(text) > max_length:
        encoded.cut_count += 1
    encoded.add(text[:max_length], 1)
