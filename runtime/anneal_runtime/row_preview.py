"""Rows as the trainer would learn them: a model server shows them for the service, by the trainer's own encoding."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from anneal_runtime.row_sequences import (
    NOT_LEARNED,
    AnswerRow,
    Row,
    Sequence,
    answer_prompts,
    encode_answers,
    encode_supervised,
    ends_with,
    fitting,
)
from anneal_runtime.tokenization import ChatRefused, TextEncoder, token_texts
from anneal_runtime.trainer.method import Method

# The tokens that one answer shows, of all rows together.
SHOWN_TOKENS = 32_768


@dataclass
class Preview:
    """How the rows of a request are learned, and the room of its answer. Rows beyond it are counted only."""

    method: Method
    max_length: int
    special_tokens: bool
    overlong: str
    rows_left: int
    tokens_left: int = SHOWN_TOKENS

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Preview:
        """Raises KeyError, TypeError and ValueError."""
        method = Method.from_json(body.get("method"))
        overlong = method.overlong(body.get("overlong"))
        return cls(method, int(body["max_length"]), bool(body["special_tokens"]), overlong, int(body["shown_rows"]))

    def of(self, encoder: TextEncoder, rows: list[str]) -> list[dict[str, Any]]:
        """Each row is a line of prepared data, or such a line for each of its judged answers."""
        acting = encoder.acting(self.special_tokens)
        return [self._row(acting, row.split("\n")) for row in rows]

    def _row(self, encoder: TextEncoder, lines: list[str]) -> dict[str, Any]:
        try:
            sequences = [each for line in lines for each in self._sequences(encoder, json.loads(line))]
        except ChatRefused as error:
            return {"sequences": [], "error": str(error)}
        self.rows_left -= 1
        return {"sequences": sequences, "error": self._error(sequences)}

    def _error(self, sequences: list[dict[str, Any]]) -> str | None:
        has_learned = self.method.type == "reinforcement" or any(each["learned"] for each in sequences)
        is_dropped = any(each["dropped"] for each in sequences)
        if is_dropped and self.overlong == "refuse":
            return f"is longer than {self.max_length} tokens, which the job refuses"
        return None if is_dropped or has_learned else "has no token to learn"

    def _sequences(self, encoder: TextEncoder, line: dict[str, Any]) -> list[dict[str, Any]]:
        # A row that is left out is shown whole.
        most = self.max_length if self.overlong == "cut" else sys.maxsize
        if self.method.type == "supervised":
            row = Row.from_line(line)
            (encoded,) = encode_supervised(encoder, [row], most, self.method["train_on"])
            roles = ["answer" if row.input else "text"] * len(encoded.sequences)
            is_dropped = len(encoded.sequences[0][0]) > self.max_length
        elif self.method.type == "reinforcement":
            return [self._prompt(encoder, AnswerRow.of_prompt(line))]
        else:
            answers = AnswerRow.from_line(line)
            (encoded,) = encode_answers(encoder, [answers], most, learns_chosen_prompt=self.method.learns_chosen_prompt)
            judgement = "desirable" if answers.is_good else "undesirable"
            roles = ["chosen", "rejected"] if answers.is_good is None else [judgement]
            is_dropped = any(len(tokens) > self.max_length for tokens, _ in encoded.sequences)
        return [
            self._told(encoder, role, sequence, is_cut=is_cut, is_dropped=is_dropped)
            for role, sequence, is_cut in zip(roles, encoded.sequences, encoded.cut, strict=True)
        ]

    def _prompt(self, encoder: TextEncoder, row: AnswerRow) -> dict[str, Any]:
        """As trainer/prompts.py encodes it. The model samples the answers, so nothing of the row is learned."""
        (tokens,) = answer_prompts(encoder, [row])
        is_dropped = self.overlong != "cut" and len(tokens) >= self.max_length
        kept = tokens if is_dropped else fitting(encoder, tokens, 1, self.max_length)
        sequence = (kept, [NOT_LEARNED] * len(kept))
        told = self._told(encoder, "prompt", sequence, is_cut=len(kept) < len(tokens), is_dropped=is_dropped)
        # No answer has lost its end.
        return {**told, "ended": True}

    def _told(
        self, encoder: TextEncoder, role: str, sequence: Sequence, *, is_cut: bool, is_dropped: bool
    ) -> dict[str, Any]:
        tokens, labels = sequence
        end = encoder.tokenizer.eos_token_id
        if is_dropped:
            labels = [NOT_LEARNED] * len(labels)
        counts = {
            "role": role,
            "length": len(tokens),
            "learned": sum(label != NOT_LEARNED for label in labels),
            "truncated": is_cut,
            "dropped": is_dropped,
            "ended": ends_with(tokens, end),
        }
        return {**counts, "shown": self._shown(encoder, tokens, labels)} if self.rows_left > 0 else counts

    def _shown(self, encoder: TextEncoder, tokens: list[int], labels: list[int]) -> dict[str, Any]:
        """A label says what its position has to predict, so the learned token is the next one."""
        shown = tokens[: self.tokens_left]
        self.tokens_left -= len(shown)
        learned = [at for at, label in enumerate(labels, 1) if label != NOT_LEARNED]
        runs = [list(run) for _, run in groupby(enumerate(learned), key=lambda each: each[1] - each[0])]
        other = [(at, labels[at - 1]) for at in learned if tokens[at : at + 1] != [labels[at - 1]]]
        return {
            "ids": shown,
            "tokens": token_texts(encoder.tokenizer, shown),
            "trained_spans": [[run[0][1], run[-1][1] + 1] for run in runs],
            "replaced": [
                {"index": at, "id": token, "token": text}
                for (at, token), text in zip(
                    other, token_texts(encoder.tokenizer, [token for _, token in other]), strict=True
                )
            ],
        }
