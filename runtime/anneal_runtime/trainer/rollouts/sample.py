"""Samples answers with the decoder of model servers, in the process and on the weights of the trainer."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from anneal_runtime.model_source import LoadedModel, context_length, end_tokens, is_out_of_memory
from anneal_runtime.server.decoding.batch import RunningBatch
from anneal_runtime.server.decoding.cache import RowCache
from anneal_runtime.server.decoding.extras import Extras
from anneal_runtime.server.decoding.forward import TorchForward
from anneal_runtime.server.decoding.rows import (
    GenerationRequest,
    GrammarFailed,
    Row,
    SamplingParams,
    Vocabulary,
)
from anneal_runtime.tokenization import parts_of_answer
from anneal_runtime.tool_text import Message, finish_reason
from anneal_runtime.trainer.answer_form import AnswerForm
from anneal_runtime.trainer.failures import DataError, Diverged
from anneal_runtime.trainer.rollouts.policy import Policy

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedTokenizerBase

# Rows times positions that are held at once.
POSITIONS_AT_ONCE = 65_536
# New prompts are read when so much of the batch is free: a read costs a pass of its own.
SHARE_THAT_JOINS = 8


@dataclass(frozen=True)
class Place:
    """Which answer it is: the step that learns from it, the line of its prompt, and its number among the answers."""

    split: str
    step: int
    row: int
    index: int

    def stream(self, seed: int) -> int:
        """The seed of the answer's own random numbers."""
        return random.Random(f"{seed}:{self.split}:{self.step}:{self.row}:{self.index}").getrandbits(63)


@dataclass(frozen=True)
class Asked:
    place: Place
    prompt: list[int]
    # Whether functions are offered to the model, whose calls are then read.
    has_tools: bool


@dataclass(frozen=True)
class Sampled:
    """`tokens` has the token that ended the answer, if one did. `logps` are those of the sampler."""

    tokens: list[int]
    logps: list[float]
    text: str
    tool_calls: list[Message] | None
    finish_reason: str


class Sampler:
    def __init__(
        self,
        model: PeftModel,
        base: LoadedModel,
        *,
        seed: int,
        temperature: float,
        top_p: float,
        max_tokens: int,
        form: AnswerForm | None = None,
    ) -> None:
        self._form = form
        self._policy = Policy(model)
        self._tokenizer = base.tokenizer
        config = model.get_base_model().generation_config
        ends = frozenset(end_tokens(config, base.tokenizer))
        self._vocabulary = Vocabulary(base.tokenizer, ends, self._policy.forward.vocabulary_size)
        self._context = context_length(model.get_base_model().config)
        self._seed, self._temperature, self._max_tokens = seed, temperature, max_tokens
        # The logits are divided by the temperature before the decoder sees them, so that its scores are those of the
        # distribution that it draws from.
        self._params = SamplingParams(max_tokens, 1.0, top_p, None, (), Extras(logprobs=0, restricted=True))
        # The most rows that have been found to fit.
        self._limit = sys.maxsize

    @torch.inference_mode()
    def sample(self, asked: list[Asked], pulse: Callable[[], None] = lambda: None) -> list[Sampled]:
        """In order. `pulse` is called between passes; what it raises ends the sampling."""
        found: dict[Place, Sampled] = {}
        while waiting := [each for each in asked if each.place not in found]:
            try:
                for place, sampled in self._run(waiting, pulse):
                    found[place] = sampled
                continue
            except RuntimeError as error:
                if not is_out_of_memory(error) or self._most_rows(waiting) == 1:
                    raise
            # Outside of the handler, whose traceback keeps the failed pass alive. Answers that are not done begin anew,
            # from the same streams.
            self._limit = self._most_rows(waiting) // 2
            torch.cuda.empty_cache()
        return [found[each.place] for each in asked]

    def _run(self, asked: list[Asked], pulse: Callable[[], None]) -> Iterator[tuple[Place, Sampled]]:
        form = self._form
        request = GenerationRequest(self._policy.adapter(), None if form is None else form.start, _ignore)
        grammars = _NoGrammars() if form is None else form.grammars
        rows = {self._row(request, number, each): each for number, each in enumerate(asked)}
        # Longest last, and taken from the end: later rows then join a batch that is already as wide as they are.
        waiting = sorted(rows, key=lambda row: (len(row.prompt), -row.index))
        most, forward = self._most_rows(asked), _SharedPrompts(self._policy.forward, self._temperature)
        batch = RunningBatch(forward, grammars, self._vocabulary)  # type: ignore[arg-type]
        while waiting or batch.rows:
            free = most - len(batch.rows)
            if waiting and (free >= max(most // SHARE_THAT_JOINS, 1)):
                taken = [waiting.pop() for _ in range(min(free, len(waiting)))]
                joining, failures = batch.read(taken)
                batch.join(joining)
            else:
                failures = batch.step() or []
            if failures:
                cause = failures[0].cause
                if isinstance(cause, GrammarFailed):
                    raise DataError(f"response_format: {cause}")
                # Nothing else but numbers that are not finite fails a row.
                raise Diverged(f"The training diverged. {cause} Use a lower learning_rate.")
            for row in [row for row in batch.rows if row.answer is not None]:
                yield rows[row].place, self._sampled(row, rows[row])
            batch.drop([row.answer is not None for row in batch.rows])
            pulse()

    def _most_rows(self, asked: list[Asked]) -> int:
        longest = max(len(each.prompt) for each in asked) + self._max_tokens
        return min(max(POSITIONS_AT_ONCE // min(longest, self._context), 1), len(asked), self._limit)

    def _row(self, request: GenerationRequest, number: int, asked: Asked) -> Row:
        params = replace(self._params, seed=asked.place.stream(self._seed))
        return Row(request, number, asked.prompt, params, min(self._max_tokens, self._context - len(asked.prompt)))

    def _sampled(self, row: Row, asked: Asked) -> Sampled:
        tokens, logps = [score.token for score in row.scores], [score.logprob for score in row.scores]
        assert row.answer is not None
        return sampled_of(self._tokenizer, asked, tokens, row.output, logps, str(row.answer.finish_reason))


def sampled_of(
    tokenizer: PreTrainedTokenizerBase,
    asked: Asked,
    tokens: list[int],
    said: list[int],
    logps: list[float],
    reason: str,
) -> Sampled:
    """`said` is `tokens` without the one that ended the answer."""
    text, calls = parts_of_answer(tokenizer, said, has_tools=asked.has_tools)
    return Sampled(tokens, logps, text, calls or None, finish_reason(reason, calls))


def _ignore(_result: Any) -> None:
    """Answers are read from their rows."""


class _NoGrammars:
    def restrict(self, _logits: torch.Tensor, _rows: list[Row]) -> Iterator[None]:
        return iter(())


class _SharedPrompts:
    """Reads a prompt once for all answers to it, and divides the logits by the temperature."""

    def __init__(self, forward: TorchForward, temperature: float) -> None:
        self._forward, self._temperature = forward, temperature
        self.vocabulary_size = forward.vocabulary_size

    def new_cache(self) -> RowCache:
        return self._forward.new_cache()

    def feed(self, rows: list[Row], chunks: list[list[int]], cache: RowCache, kept: int) -> torch.Tensor:
        logits = self._fed(rows, chunks, cache, kept).float()
        return logits if self._temperature == 1 else logits / self._temperature

    def _fed(self, rows: list[Row], chunks: list[list[int]], cache: RowCache, kept: int) -> torch.Tensor:
        if cache.layers:
            return self._forward.feed(rows, chunks, cache, kept)
        unique = sorted({tuple(chunk): number for number, chunk in enumerate(chunks)}.values())
        line_of = {tuple(chunks[number]): line for line, number in enumerate(unique)}
        lines, read = [line_of[tuple(chunk)] for chunk in chunks], self._forward.new_cache()
        logits = self._forward.feed(
            [rows[number] for number in unique], [chunks[number] for number in unique], read, kept
        )
        cache.append(read.part(lines))
        return logits[torch.tensor(lines, device=logits.device)]
