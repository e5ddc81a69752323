"""Rows and requests: a row is one prompt with its growing answer; a request is the rows that came together."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from tokenizers.decoders import DecodeStream

from anneal_runtime.server.decoding.extras import Extras, Score
from anneal_runtime.tokenization import text_of

if TYPE_CHECKING:
    from llguidance import LLMatcher
    from transformers import PreTrainedTokenizerBase


FinishReason = Literal["stop", "length"]
# The tokens that the grammar of a typed answer forces at its start are read with the prompt: about so many.
FORCED_TOKENS = 16


@dataclass(frozen=True)
class Vocabulary:
    tokenizer: PreTrainedTokenizerBase
    end_tokens: frozenset[int]
    # Token ids that the model can read.
    size: int


@dataclass(frozen=True)
class SamplingParams:
    max_tokens: int
    temperature: float
    top_p: float
    seed: int | None
    stop: tuple[str, ...]
    # None for most rows: they take the shorter way.
    extras: Extras | None = None


@dataclass(frozen=True)
class Answer:
    text: str
    finish_reason: FinishReason
    token_count: int
    # Empty unless log-probabilities are asked for. The first token of a prompt has none.
    scores: list[Score] = field(default_factory=list)
    prompt_scores: list[Score | None] = field(default_factory=list)


class GenerationFailed(Exception):
    """A row could not be generated; its request fails as a whole."""


class GrammarFailed(GenerationFailed):
    """The row's grammar is too complex to apply."""


def check_matcher(matcher: LLMatcher) -> None:
    """A matcher in error also reports "stopped": without this check a broken answer would pass as complete."""
    if matcher.is_error():
        raise GrammarFailed("The grammar is too complex to apply. Simplify it.")


class Row:
    def __init__(
        self, request: GenerationRequest, index: int, prompt: list[int], params: SamplingParams, max_tokens: int
    ) -> None:
        self.request, self.index, self.prompt, self.params = request, index, prompt, params
        self.max_tokens = max_tokens
        self.temperature, self.top_p, self.extras = params.temperature, params.top_p, params.extras
        self.output: list[int] = []
        # Known tokens that the model has not seen yet, and how many it has.
        self.pending: list[int] = list(prompt)
        self.cached = 0
        self.matcher: LLMatcher | None = None
        self.answer: Answer | None = None
        self.scores: list[Score] = []
        self.prompt_scores: list[Score | None] = []
        self._stream: DecodeStream | None = None
        self._text = ""
        self._shown = self._scored = 0

    def start(self, vocabulary: Vocabulary, *, forces: bool = True) -> None:
        """Makes the state that a waiting row does not need; called right before the first forward pass. `forces`: see
        accept.
        """
        self._random = random.Random(self.params.seed)
        if self.params.stop or self.request.on_text is not None:
            self._stream = DecodeStream(skip_special_tokens=True)
        if self.request.grammar is not None:
            self.matcher = self.request.grammar.deep_copy()
            if forces:
                self._follow_forced(vocabulary)
        if self.max_tokens == 0 and not self.scores_prompt:
            self._finish("length", vocabulary)

    @property
    def wants_scores(self) -> bool:
        return self.extras is not None and self.extras.logprobs is not None

    @property
    def changes_logits(self) -> bool:
        return self.matcher is not None or (self.extras is not None and self.extras.changes_logits)

    @property
    def scores_restricted(self) -> bool:
        return self.extras is not None and self.extras.restricted

    @property
    def read_length(self) -> int:
        """About how many tokens are read before the first one is sampled."""
        return len(self.prompt) + (0 if self.request.grammar is None else FORCED_TOKENS)

    @property
    def scores_prompt(self) -> bool:
        return self.extras is not None and self.extras.scores_prompt

    def draw(self) -> float:
        return 1.0 - self._random.random()

    def fed(self, count: int) -> None:
        self.cached += count
        del self.pending[:count]

    def accept(self, token: int, vocabulary: Vocabulary, *, forces: bool = True) -> None:
        """Takes the sampled token; afterwards either `answer` is set or `pending` is not empty.

        @param forces: take the tokens that the grammar forces now, too, else one by one as they are sampled
        """
        if token < 0:
            raise GenerationFailed("The model gave numbers that are not finite.")
        ended = token in vocabulary.end_tokens
        if self.matcher is not None:
            self.matcher.consume_token(token)
            check_matcher(self.matcher)
        if ended:
            self._finish("stop", vocabulary)
        else:
            self._take([token], vocabulary)
        if forces and self.matcher is not None and self.answer is None:
            self._follow_forced(vocabulary)

    def end_unsampled(self, vocabulary: Vocabulary) -> None:
        """Ends a row that asks for its prompt's log-probabilities only."""
        self._finish("length", vocabulary)

    def _follow_forced(self, vocabulary: Vocabulary) -> None:
        """Tokens that the grammar leaves no choice about are taken at once instead of sampled one by one."""
        assert self.matcher is not None
        if self.wants_scores:
            return
        forced = [token for token in self.matcher.compute_ff_tokens() if token not in vocabulary.end_tokens]
        # The row ends where its tokens do, so the matcher need not follow further.
        self.matcher.consume_tokens(forced[: self.max_tokens - len(self.output)])
        check_matcher(self.matcher)
        self._take(forced, vocabulary)

    def _take(self, tokens: list[int], vocabulary: Vocabulary) -> None:
        room = self.max_tokens - len(self.output)
        for token in tokens[:room]:
            self.output.append(token)
            self.pending.append(token)
            if self._read(token, vocabulary):
                return
        complete = self.matcher is not None and self.matcher.is_stopped()
        if complete and len(tokens) <= room:
            self._finish("stop", vocabulary)
        elif len(self.output) >= self.max_tokens:
            self._finish("length", vocabulary)

    def show(self) -> None:
        """Streams the text that is final: a stop sequence may still begin in the last characters."""
        if self.request.on_text is None:
            return
        held = max(map(len, self.params.stop), default=1) - 1
        text = self._text[: max(len(self._text) - held, 0)] if self.answer is None else self.answer.text
        if len(text) > self._shown or len(self.scores) > self._scored:
            self.request.on_text(self.index, text[self._shown :], self.scores[self._scored :])
            self._shown, self._scored = max(self._shown, len(text)), len(self.scores)

    def _read(self, token: int, vocabulary: Vocabulary) -> bool:
        """True when it ended the answer by a stop."""
        if self._stream is None:
            return False
        piece = self._stream.step(vocabulary.tokenizer.backend_tokenizer, token)
        if not piece:
            return False
        seen = len(self._text) - max(map(len, self.params.stop), default=0) + 1
        self._text += piece
        found = [(at, stop) for stop in self.params.stop if (at := self._text.find(stop, max(seen, 0))) >= 0]
        if not found:
            return False
        at, stop = min(found)
        end = at + len(stop) if self.extras is not None and self.extras.include_stop else at
        self.answer = Answer(self._text[:end], "stop", len(self.output), self.scores, self.prompt_scores)
        return True

    def _finish(self, reason: FinishReason, vocabulary: Vocabulary) -> None:
        text = text_of(vocabulary.tokenizer, self.output)
        self.answer = Answer(text, reason, len(self.output), self.scores, self.prompt_scores)


@dataclass(eq=False)
class GenerationRequest:
    """`on_done` is called once, from the decoding thread: all answers in order, or why there are none."""

    # The handle that the engine's `read_adapter` has returned. The base has None.
    adapter: Any
    grammar: LLMatcher | None
    on_done: Callable[[list[Answer] | Exception], None]
    # Called from the decoding thread too, with a row's index and what came to its text and its scores.
    on_text: Callable[[int, str, list[Score]], None] | None = None
    # Accounts take turns.
    account: str = ""
    rows: list[Row] = field(default_factory=list)
    # Rows that have not started, the next one last.
    queued: list[Row] = field(default_factory=list)
    cancelled: bool = False
    finished: int = 0
    accepted_at: float = field(default_factory=monotonic)
    first_token_at: float | None = None
