"""Rows as sequences of tokens, with what is learned at each position. The trainer learns these sequences, and the model
server shows them, so a preview cannot differ from a training.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from anneal_runtime.tokenization import TextEncoder
from anneal_runtime.tool_text import Message, answer_text

# The label of a position that is not learned.
NOT_LEARNED = -100

# Tokens, and for each position its label: the token that it has to predict.
Sequence = tuple[list[int], list[int]]


@dataclass(frozen=True)
class Row:
    """With `messages` the prompt is these by the model's chat template, and `input` their plain text, to be read.
    `earlier` are the positions in `messages` of answers that are learned too, `muted` those of answers that never are.
    """

    input: str
    output: str
    messages: list[Message] = field(default_factory=list)
    earlier: list[int] = field(default_factory=list)
    # The last answer where it calls functions: each model writes calls in its own format.
    calling: Message | None = None
    tools: list[dict[str, Any]] = field(default_factory=list)
    muted: list[int] = field(default_factory=list)

    @classmethod
    def from_line(cls, raw: dict[str, Any]) -> Row:
        if "learned" not in raw:
            return cls(str(raw["input"]), str(raw["output"]))
        *earlier, last = raw["learned"]
        before, answer = raw["messages"][:last], raw["messages"][last]
        text = "\n".join(f"{message['role']}: {message['content']}" for message in before)
        calling = answer if answer.get("tool_calls") else None
        tools, muted = list(raw.get("tools", [])), list(raw.get("muted", []))
        return cls(text, str(answer["content"]), before, earlier, calling, tools, muted)

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


@dataclass
class EncodedRow:
    """The sequences of a row, and whether each was cut to `max_length`. The first holds the last answer, or the chosen
    one.
    """

    sequences: list[Sequence]
    cut: list[bool]

    @property
    def is_learned(self) -> bool:
        return any(label != NOT_LEARNED for _, labels in self.sequences for label in labels)

    def has_ends(self, end: int | None) -> bool:
        """Whether no sequence has lost its end token to a cut."""
        return all(ends_with(tokens, end) for tokens, _ in self.sequences)


def ends_with(tokens: list[int], end: int | None) -> bool:
    """`end` is None for a model without an end token."""
    return end is None or tokens[-1:] == [end]


def encode_supervised(encoder: TextEncoder, rows: list[Row], max_length: int, train_on: str) -> list[EncodedRow]:
    """`train_on`: "answers", "last_answer" or "everything". Raises ChatRefused."""
    prompts = row_prompts(encoder, rows)
    answers = encoder.answers([row.answer(encoder) if row.input else "" for row in rows])
    return [
        _encoded(encoder, row, _pair(encoder, prompt, answer, max_length), max_length, train_on)
        if row.input
        else _text(prompt + answer, max_length)
        for row, prompt, answer in zip(rows, prompts, answers, strict=True)
    ]


def _encoded(encoder: TextEncoder, row: Row, last: EncodedRow, max_length: int, train_on: str) -> EncodedRow:
    if train_on == "everything":
        last.sequences[0] = _without_muted(encoder, row, last.sequences[0])
    return last if train_on == "last_answer" else _with_earlier(encoder, row, last, max_length)


def _text(tokens: list[int], max_length: int) -> EncodedRow:
    return EncodedRow([labelled(tokens[:max_length], 1)], [len(tokens) > max_length])


def row_prompts(encoder: TextEncoder, rows: list[Row]) -> list[list[int]]:
    """The tokens before each row's last answer; for a plain text row, the whole text. Raises ChatRefused."""
    return _prompts(encoder, rows, lambda row: encoder.prompt(row.input) or encoder.unended(row.output))


Asked = TypeVar("Asked", "Row", "AnswerRow")


def _prompts(encoder: TextEncoder, rows: list[Asked], text_of: Callable[[Asked], str]) -> list[list[int]]:
    """Conversations by the chat template, other rows by their text."""
    chats = [row for row in rows if row.messages]
    of_chats = iter(encoder.chats([row.messages for row in chats], [row.tools for row in chats]) if chats else [])
    of_texts = iter(encoder.prompts([text_of(row) for row in rows if not row.messages]))
    return [next(of_chats) if row.messages else next(of_texts) for row in rows]


def labelled(tokens: list[int], first_target: int) -> Sequence:
    """Learns the tokens from `first_target` on, which is at least 1, as something must predict it."""
    first = max(first_target, 1)
    return tokens, [NOT_LEARNED] * (first - 1) + tokens[first:] + [NOT_LEARNED] if tokens else []


def _with_earlier(encoder: TextEncoder, row: Row, encoded: EncodedRow, max_length: int) -> EncodedRow:
    """One sequence for all answers, where each answer stands after the same tokens as in a chat. An answer whose prompt
    differs from that, because the template or the tokenizer joins the parts in another way, gets a sequence of its own.
    """
    for position in reversed(row.earlier):
        prompt, answer = _said(encoder, row, position)
        tokens, labels = encoded.sequences[-1]
        if _is_within(encoder, tokens, prompt, answer):
            # The end token is learned here, whatever the template writes next.
            labels[len(prompt) - 1 : len(prompt) - 1 + len(answer)] = answer
        else:
            own = _pair(encoder, prompt, answer, max_length)
            encoded.sequences += own.sequences
            encoded.cut += own.cut
    return encoded


def _without_muted(encoder: TextEncoder, row: Row, sequence: Sequence) -> Sequence:
    """Learns every token but those of muted answers. The answers alone, where a muted one is not found."""
    tokens, labels = labelled(sequence[0], 1)
    for position in row.muted:
        prompt, answer = _said(encoder, row, position)
        if not _is_within(encoder, tokens, prompt, answer):
            return sequence
        labels[len(prompt) - 1 : len(prompt) - 1 + len(answer)] = [NOT_LEARNED] * len(answer)
    return tokens, labels


def _said(encoder: TextEncoder, row: Row, position: int) -> tuple[list[int], list[int]]:
    """The tokens before the answer at the position, and those of the answer."""
    (prompt,) = encoder.chats([row.messages[:position]], [row.tools])
    (answer,) = encoder.answers([encoder.call(row.messages[position])])
    return prompt, answer


def _is_within(encoder: TextEncoder, tokens: list[int], prompt: list[int], answer: list[int]) -> bool:
    before = prompt + (answer if encoder.tokenizer.eos_token_id is None else answer[:-1])
    return bool(prompt) and tokens[: len(before)] == before


def _pair(encoder: TextEncoder, prompt: list[int], answer: list[int], max_length: int) -> EncodedRow:
    is_long = len(prompt) + len(answer) > max_length
    return EncodedRow(
        [joined(fitting(encoder, prompt, len(answer), max_length), answer, max_length)],
        [is_long],
    )


def fitting(encoder: TextEncoder, prompt: list[int], answer_length: int, max_length: int) -> list[int]:
    """Too long beside its answer: the prompt keeps its end (and start token), and at least half of `max_length`."""
    room = max(max_length - answer_length, min(len(prompt), max_length // 2), 1)
    if len(prompt) <= room:
        return prompt
    head = prompt[:1] if prompt[0] == encoder.tokenizer.bos_token_id and room > 1 else []
    return head + prompt[len(prompt) - room + len(head) :]


def joined(prompt: list[int], answer: list[int], max_length: int) -> Sequence:
    """Too long: the answer keeps its start."""
    return labelled((prompt + answer)[:max_length], len(prompt))


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

    @classmethod
    def of_prompt(cls, raw: dict[str, Any]) -> AnswerRow:
        """A row without answers, which the model samples."""
        messages = list(raw.get("messages", []))
        return cls([], "" if messages else str(raw["input"]), messages, list(raw.get("tools") or []))

    @classmethod
    def from_line(cls, raw: dict[str, Any]) -> AnswerRow:
        """`input` or `messages`, with `chosen` and `rejected`, or with `answer` and `label`."""
        is_judged = "answer" in raw
        answers = [raw["answer"]] if is_judged else [raw["chosen"], raw["rejected"]]
        # A list holds one message.
        answers = [answer[0] if isinstance(answer, list) else answer for answer in answers]
        messages, tools = list(raw.get("messages", [])), list(raw.get("tools") or [])
        return cls(answers, str(raw.get("input", "")), messages, tools, bool(raw["label"]) if is_judged else None)


def encode_answers(
    encoder: TextEncoder, rows: list[AnswerRow], max_length: int = sys.maxsize, *, learns_chosen_prompt: bool = False
) -> list[EncodedRow]:
    """Each answer of a row is learned, in a sequence of its own, and all after the same prompt: they are compared. With
    `learns_chosen_prompt` the first sequence teaches the prompt, too. Raises ChatRefused.
    """
    answers = iter(encoder.answers([_said_by(encoder, answer) for row in rows for answer in row.answers]))
    encoded = []
    for row, prompt in zip(rows, answer_prompts(encoder, rows), strict=True):
        said = [next(answers) for _ in row.answers]
        longest = max(map(len, said), default=0)
        kept = fitting(encoder, prompt, longest, max_length)
        sequences = [joined(kept, answer, max_length) for answer in said]
        if learns_chosen_prompt:
            sequences[0] = labelled(sequences[0][0], 1)
        encoded.append(EncodedRow(sequences, [len(prompt) + longest > max_length] * len(said)))
    return encoded


def answer_prompts(encoder: TextEncoder, rows: list[AnswerRow]) -> list[list[int]]:
    """The tokens before the answers of each row. Raises ChatRefused."""
    return _prompts(encoder, rows, lambda row: encoder.prompt(row.input))


def _said_by(encoder: TextEncoder, answer: Answer) -> str:
    return answer if isinstance(answer, str) else encoder.call(answer)
