"""The form that sampled answers have, as a grammar of model servers. What it forbids has no probability: neither when
answers are drawn nor when they are learned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from anneal_runtime.model_source import LoadedModel, end_tokens
from anneal_runtime.row_sequences import NOT_LEARNED
from anneal_runtime.server.decoding.grammar import BadGrammar, Grammars, Source
from anneal_runtime.server.decoding.rows import GrammarFailed, check_matcher
from anneal_runtime.trainer.failures import DataError
from anneal_runtime.trainer.rows import EncodedRows

if TYPE_CHECKING:
    from llguidance import LLMatcher


class AnswerForm:
    def __init__(self, grammar: str, base: LoadedModel) -> None:
        ends = end_tokens(base.model.generation_config, base.tokenizer)
        self.grammars = Grammars(base.tokenizer, base.model.get_output_embeddings().weight.shape[0], ends)
        self._source = Source("grammar", grammar)
        self.renew()

    def renew(self) -> None:
        """Forgets what earlier answers have added to the automaton. A run that was resumed has not seen them, and the
        automaton has a bound.
        """
        if (known := self.grammars.find(self._source)) is not None:
            self.grammars.forget(known)
        try:
            self.start = self.grammars.compile(self._source)
        except BadGrammar as error:
            raise DataError(f"response_format: {error}") from error

    def forbidden(self, rows: EncodedRows, sequences: Sequence[int], width: int) -> torch.Tensor:
        """[learned tokens, width], those of all sequences one after the other."""
        answers = (rows.labels(sequence) for sequence in sequences)
        learned = [labels[labels != NOT_LEARNED].tolist() for labels in answers]
        with told():
            return torch.cat([self.grammars.along(self.start, answer, width) for answer in learned])

    def begin(self, count: int) -> list[Typed]:
        return [Typed(self.start.deep_copy(), self) for _ in range(count)]

    def restrict(self, logits: torch.Tensor, answers: list[Typed]) -> None:
        """In place; logits are [answers, vocabulary]."""
        for _ in self.grammars.restrict(logits, answers):
            pass

    @property
    def grammar(self) -> LLMatcher:
        return self.start


@dataclass(frozen=True)
class Typed:
    """An answer that grows."""

    matcher: LLMatcher
    request: AnswerForm

    def takes(self, token: int) -> bool:
        """False once the answer is complete."""
        self.matcher.consume_token(token)
        with told():
            check_matcher(self.matcher)
        return not self.matcher.is_stopped()


@contextmanager
def told() -> Iterator[None]:
    try:
        yield
    except GrammarFailed as error:
        raise DataError(f"response_format: {error}") from error
