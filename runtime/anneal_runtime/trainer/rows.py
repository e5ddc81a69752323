"""Rows of a data file as tokens: cut to length, with what is learned at each position."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import torch

from anneal_runtime.tokenization import ChatRefused, TextEncoder
from anneal_runtime.tool_text import Message, answer_text
from anneal_runtime.trainer.failures import DataError, RowsRefused

ROWS_AT_ONCE = 1000
# A refusal names so many lines.
MOST_NAMED = 5

# The label of a position that is not learned.
NOT_LEARNED = -100

# Tokens, and for each position its label: the token that it has to predict.
Sequence = tuple[list[int], list[int]]


@dataclass(frozen=True)
class Row:
    """With `messages` the prompt is these by the model's chat template, and `input` their plain text, to be read.
    `earlier` are the positions in `messages` of answers that are learned too.
    """

    input: str
    output: str
    messages: list[Message] = field(default_factory=list)
    earlier: list[int] = field(default_factory=list)
    # The last answer where it calls functions: each model writes calls in its own format.
    calling: Message | None = None
    tools: list[dict[str, Any]] = field(default_factory=list)

    def as_chat(self, system: str | None) -> Row:
        """A pair as a question of a user. A conversation, and a row of plain text, stay as they are."""
        if self.messages or not self.input:
            return self
        said = [] if system is None else [{"role": "system", "content": system}]
        return replace(self, messages=[*said, {"role": "user", "content": self.input}])

    def answer(self, encoder: TextEncoder) -> str:
        """The text for `answers`."""
        return self.output if self.calling is None else encoder.call(self.calling)

    def expected(self, encoder: TextEncoder) -> str:
        """What the model should write, for people and comparisons."""
        return encoder.unended(self.output) if self.calling is None else answer_text(encoder.tokenizer, self.calling)


class EncodedRows:
    """Token sequences of many rows in flat arrays. A row has a sequence, a conversation may have several; rows that the
    run never visits have none.
    """

    def __init__(self) -> None:
        self._tokens, self._labels = array("i"), array("i")
        self._starts, self._label_counts = [0], array("i")
        self._first_sequences = [0]
        self.cut_count = 0
        # Rows that were left out because they are too long, and the lines of the first ones.
        self.dropped_count = 0
        self._first_dropped: list[int] = []

    def __len__(self) -> int:
        return len(self._first_sequences) - 1

    @property
    def sequence_count(self) -> int:
        return len(self._label_counts)

    def sequences(self, rows: Iterable[int]) -> list[int]:
        return [number for row in rows for number in range(*self._first_sequences[row : row + 2])]

    def length(self, sequence: int) -> int:
        return self._starts[sequence + 1] - self._starts[sequence]

    def longest(self) -> int:
        return max((self.length(sequence) for sequence in range(len(self._label_counts))), default=0)

    def tokens(self, sequence: int) -> torch.Tensor:
        return self._part(self._tokens, sequence)

    def labels(self, sequence: int) -> torch.Tensor:
        return self._part(self._labels, sequence)

    def label_count(self, sequence: int) -> int:
        return self._label_counts[sequence]

    def add(self, *sequences: Sequence) -> None:
        """Adds a row."""
        for tokens, labels in sequences:
            self._tokens.extend(tokens)
            self._labels.extend(labels)
            self._starts.append(len(self._tokens))
            self._label_counts.append(sum(label != NOT_LEARNED for label in labels))
        self._first_sequences.append(len(self._label_counts))

    def drop(self) -> None:
        """Leaves out a row that is too long. No row keeps its place: a run visits those that were added."""
        if len(self._first_dropped) < MOST_NAMED:
            self._first_dropped.append(len(self) + self.dropped_count + 1)
        self.dropped_count += 1

    def check_dropped(self, max_length: int, overlong: str) -> None:
        """Raises DataError if no row is left, or if the job refuses rows that are too long."""
        if self.dropped_count and overlong == "refuse":
            more = ", …" if self.dropped_count > MOST_NAMED else ""
            lines = ", ".join(map(str, self._first_dropped)) + more
            raise RowsRefused(
                f"{self.dropped_count} rows are longer than {max_length} tokens (lines {lines}). Raise max_length, "
                'split them, or use overlong "cut" or "drop".'
            )
        if len(self) == 0:
            raise DataError(
                f"Every row of the data is longer than {max_length} tokens. Raise max_length, or shorten them."
            )

    def _part(self, values: array[int], sequence: int) -> torch.Tensor:
        return torch.tensor(values[self._starts[sequence] : self._starts[sequence + 1]], dtype=torch.long)


def labelled(tokens: list[int], first_target: int) -> Sequence:
    """Learns the tokens from `first_target` on, which is at least 1, as something must predict it."""
    first = max(first_target, 1)
    return tokens, [NOT_LEARNED] * (first - 1) + tokens[first:] + [NOT_LEARNED] if tokens else []


def parted(rows: EncodedRows, sequence: int) -> tuple[list[int], list[int]]:
    """Prompt and answer of a sequence whose answer alone is learned."""
    tokens = rows.tokens(sequence).tolist()
    first = int((rows.labels(sequence) != NOT_LEARNED).nonzero()[0]) + 1
    return tokens[:first], tokens[first:]


def joined(prompt: list[int], answer: list[int], max_length: int) -> Sequence:
    """Too long: the answer keeps its start."""
    return labelled((prompt + answer)[:max_length], len(prompt))


def read_rows(path: Path) -> Iterator[Row]:
    return read_lines(path, _read_row)


T = TypeVar("T")


def read_lines(path: Path, read: Callable[[dict[str, Any]], T]) -> Iterator[T]:
    """Raises DataError with the number of a line that `read` does not take."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield read(json.loads(line))
            except (ValueError, KeyError, TypeError, IndexError) as error:
                raise DataError(f"Line {number} of the data cannot be read: {error!r}.") from error


def _read_row(raw: dict[str, Any]) -> Row:
    if "learned" not in raw:
        return Row(str(raw["input"]), str(raw["output"]))
    *earlier, last = raw["learned"]
    before, answer = raw["messages"][:last], raw["messages"][last]
    text = "\n".join(f"{message['role']}: {message['content']}" for message in before)
    calling = answer if answer.get("tool_calls") else None
    return Row(text, str(answer["content"]), before, earlier, calling, list(raw.get("tools", [])))


def count_rows(path: Path) -> int:
    with path.open("rb") as lines:
        return sum(1 for _ in lines)


def encode_rows(
    path: Path, encoder: TextEncoder, max_length: int, visited: set[int] | None = None, overlong: str = "cut"
) -> EncodedRows:
    """`visited` None means all rows. Raises DataError when nothing is left to learn."""
    encoded, chunk = EncodedRows(), list[Row]()
    bos = encoder.tokenizer.bos_token_id

    def encode_chunk() -> None:
        prompts = row_prompts(encoder, chunk)
        answers = encoder.answers([row.answer(encoder) if row.input else "" for row in chunk])
        for row, prompt, answer in zip(chunk, prompts, answers, strict=True):
            if len(prompt) + len(answer) > max_length:
                if overlong != "cut":
                    encoded.drop()
                    continue
                encoded.cut_count += 1
            if row.earlier:
                encoded.add(*_conversation(encoder, row, prompt, answer, max_length))
            elif row.input:
                encoded.add(_pair(prompt, answer, max_length, bos))
            else:
                encoded.add(labelled((prompt + answer)[:max_length], 1))
        chunk.clear()

    for index, row in enumerate(read_rows(path)):
        if visited is None or index in visited:
            chunk.append(row)
        else:
            encode_chunk()
            encoded.add()
        if len(chunk) == ROWS_AT_ONCE:
            encode_chunk()
    encode_chunk()
    if encoded.dropped_count:
        encoded.check_dropped(max_length, overlong)
    if not any(encoded.label_count(sequence) for sequence in encoded.sequences(range(len(encoded)))):
        raise DataError("No row of the data has an output token to learn. Check the outputs and max_length.")
    return encoded


def row_prompts(encoder: TextEncoder, rows: list[Row]) -> list[list[int]]:
    """The tokens before each row's last answer; for a plain text row, the whole text. Raises DataError."""
    chats = [row for row in rows if row.messages]
    of_chats = iter(chat_prompts(encoder, [row.messages for row in chats], [row.tools for row in chats]))
    texts = [row for row in rows if not row.messages]
    of_texts = iter(encoder.prompts([encoder.prompt(row.input) or encoder.unended(row.output) for row in texts]))
    return [next(of_chats) if row.messages else next(of_texts) for row in rows]


def chat_prompts(
    encoder: TextEncoder, chats: list[list[Message]], tools: list[list[dict[str, Any]]]
) -> list[list[int]]:
    try:
        return encoder.chats(chats, tools) if chats else []
    except ChatRefused as error:
        raise DataError(f"The data has rows with messages. {error}") from error


def _conversation(
    encoder: TextEncoder, row: Row, prompt: list[int], answer: list[int], max_length: int
) -> list[Sequence]:
    """One sequence for all answers, where each answer stands after the same tokens as in a chat. An answer whose prompt
    differs from that, because the template or the tokenizer joins the parts in another way, gets a sequence of its own.
    """
    bos, end = encoder.tokenizer.bos_token_id, encoder.tokenizer.eos_token_id
    sequences = [_pair(prompt, answer, max_length, bos)]
    for position in reversed(row.earlier):
        (prompt,) = chat_prompts(encoder, [row.messages[:position]], [row.tools])
        (answer,) = encoder.answers([encoder.call(row.messages[position])])
        tokens, labels = sequences[-1]
        before = prompt + (answer if end is None else answer[:-1])
        if prompt and tokens[: len(before)] == before:
            # The end token is learned here, whatever the template writes next.
            labels[len(prompt) - 1 : len(prompt) - 1 + len(answer)] = answer
        else:
            sequences.append(_pair(prompt, answer, max_length, bos))
    return sequences


def _pair(prompt: list[int], answer: list[int], max_length: int, bos: int | None) -> Sequence:
    return joined(fitting(prompt, len(answer), max_length, bos), answer, max_length)


def fitting(prompt: list[int], answer_length: int, max_length: int, bos: int | None) -> list[int]:
    """Too long beside its answer: the prompt keeps its end (and start token), and at least half of `max_length`."""
    room = max(max_length - answer_length, min(len(prompt), max_length // 2), 1)
    if len(prompt) <= room:
        return prompt
    head = prompt[:1] if prompt[0] == bos and room > 1 else []
    return head + prompt[len(prompt) - room + len(head) :]
