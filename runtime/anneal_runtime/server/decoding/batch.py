"""The running batch: one forward pass a step for all rows, whatever request or adapter they belong to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

import torch

from anneal_runtime.server.decoding.extras import Score
from anneal_runtime.server.decoding.logits import change_logits, scores_of
from anneal_runtime.server.decoding.rows import GenerationFailed, Row, Vocabulary
from anneal_runtime.server.decoding.sampling import next_tokens, warmth

if TYPE_CHECKING:
    from anneal_runtime.server.decoding.forward import Cache, Forward
    from anneal_runtime.server.decoding.grammar import Grammars

# Logits that are held at once while the tokens of prompts are scored: 256 MB.
SCORED_LOGITS = 1 << 26


@dataclass(frozen=True)
class Joining:
    rows: list[Row]
    cache: Cache


class RowFailed(Exception):
    def __init__(self, row: Row, cause: Exception) -> None:
        super().__init__(str(cause))
        self.row, self.cause = row, cause


class RunningBatch:
    def __init__(self, forward: Forward, grammars: Grammars, vocabulary: Vocabulary) -> None:
        self._forward, self._grammars, self._vocabulary = forward, grammars, vocabulary
        self.rows: list[Row] = []
        self._cache = forward.new_cache()
        # The rest of a step that is not done, and what has failed in it.
        self._half: Iterator[list[RowFailed]] | None = None
        self._failed: list[RowFailed] = []

    def read(self, rows: list[Row], most_grammar_s: float | None = None) -> tuple[Joining, list[RowFailed]]:
        """Reads the rows' prompts and samples their first tokens, apart from the batch. Returns what failed, too.

        Once the grammars have taken `most_grammar_s`, tokens that they force are left to later steps.
        """
        failures, until = [], _end_of(most_grammar_s)
        for row in rows:
            try:
                row.start(self._vocabulary, forces=monotonic() < until)
            except GenerationFailed as error:
                failures.append(RowFailed(row, error))
        failed = {failure.row for failure in failures}
        rows, cache = [row for row in rows if row.answer is None and row not in failed], self._forward.new_cache()
        if any(row.scores_prompt for row in rows):
            failures += self._read_scored(rows, cache)
        elif rows:
            width = max(len(row.pending) for row in rows)
            logits = self._last(rows, width, cache)
            failures += chain.from_iterable(self._sample(rows, logits, _end_of(most_grammar_s)))
        return Joining(rows, cache), failures

    def join(self, joining: Joining) -> None:
        if joining.rows:
            self._cache.append(joining.cache)
            self.rows += joining.rows

    def take(self, rows: Collection[Row]) -> Joining:
        """Drops these rows, for another batch to join."""
        taken = [row in rows for row in self.rows]
        indexes = [index for index, is_taken in enumerate(taken) if is_taken]
        joining = Joining([self.rows[index] for index in indexes], self._cache.part(indexes))
        self.drop(taken)
        return joining

    def step(self, most_columns: int | None = None, most_grammar_s: float | None = None) -> list[RowFailed] | None:
        """One more token for every row. Returns what failed; the caller drops finished and failed rows.

        None if the grammars of typed rows take longer than `most_grammar_s`: the next call goes on with the same step.
        """
        if self._half is None:
            width = _width([len(row.pending) for row in self.rows])
            logits = self._last(self.rows, min(width, most_columns or width), self._cache)
            self._half, self._failed = self._sample(list(self.rows), logits), []
        until = _end_of(most_grammar_s)
        for failed in self._half:
            self._failed += failed
            if monotonic() >= until:
                return None
        self._half = None
        return self._failed

    def drop(self, gone: Sequence[bool]) -> None:
        """Drops row i if gone[i]."""
        if any(gone):
            order = self._cache.keep([index for index, is_gone in enumerate(gone) if not is_gone])
            self.rows = [self.rows[index] for index in order]
            self._half = self._half if self.rows else None

    def clear(self) -> list[Row]:
        """Drops all rows and returns them: after an error in a forward pass the cache may be wrong."""
        rows, self.rows, self._cache, self._half = self.rows, [], self._forward.new_cache(), None
        return rows

    def _read_scored(self, rows: list[Row], cache: Cache) -> list[RowFailed]:
        """Reads prompts piece by piece, with the logits of all their tokens."""
        prompts, width = [list(row.pending) for row in rows], max(len(row.pending) for row in rows)
        step = max(1, SCORED_LOGITS // (len(rows) * self._forward.vocabulary_size))
        for row in rows:
            row.prompt_scores = [None] if row.scores_prompt else []
        for start in range(0, width, step):
            end = min(start + step, width)
            # The prompts end in the same column; a shorter one begins later.
            counts = [max(0, end - width + len(ids)) - max(0, start - width + len(ids)) for ids in prompts]
            logits = self._feed(rows, counts, cache, kept=end - start)
            for row, own, ids, count in zip(rows, logits, prompts, counts, strict=True):
                if row.scores_prompt and count > 0:
                    row.prompt_scores += _next_scores(row, own[-count:].float(), ids)
        for row in rows:
            if row.max_tokens == 0:
                row.end_unsampled(self._vocabulary)
        sampled = [index for index, row in enumerate(rows) if row.answer is None]
        last = logits[torch.tensor(sampled, dtype=torch.long, device=logits.device), -1].float()
        return list(chain.from_iterable(self._sample([rows[index] for index in sampled], last)))

    def _last(self, rows: list[Row], width: int, cache: Cache) -> torch.Tensor:
        """The logits after the next tokens of each row."""
        counts = [min(width, len(row.pending)) for row in rows]
        return self._feed(rows, counts, cache, kept=1)[:, -1].float()

    def _feed(self, rows: list[Row], counts: list[int], cache: Cache, kept: int) -> torch.Tensor:
        """One pass over so many next tokens of each row. Returns the logits of the last columns."""
        chunks = [row.pending[:count] for row, count in zip(rows, counts, strict=True)]
        logits = self._forward.feed(rows, chunks, cache, kept)
        for row, chunk in zip(rows, chunks, strict=True):
            row.fed(len(chunk))
        return logits

    def _sample(self, rows: list[Row], logits: torch.Tensor, until: float = inf) -> Iterator[list[RowFailed]]:
        """A token for each row that has none pending, in pieces of work: between two of them others have their turn.
        Later than `until`, no further tokens are forced. Yields what failed.
        """
        ready = [index for index, row in enumerate(rows) if not row.pending]
        if not ready:
            return
        if len(ready) < len(rows):
            rows, logits = [rows[index] for index in ready], logits[torch.tensor(ready, device=logits.device)]
        # Checked before the grammars' masks, which could hide infinities.
        finite = torch.isfinite(logits.amax(dim=-1))
        extended = [index for index, row in enumerate(rows) if row.extras is not None]
        # As they are before penalties and grammars: a copy, unless no row has either.
        stay = len(extended) == len(rows) and not any(row.changes_logits and not row.scores_restricted for row in rows)
        scored = logits if stay or not extended else logits[torch.tensor(extended, device=logits.device)]
        if extended:
            change_logits(logits, rows)
        for _ in self._grammars.restrict(logits, rows):
            yield []
        tokens = next_tokens(logits, rows)
        if extended:
            for place, index in enumerate(extended):
                if rows[index].scores_restricted and not stay:
                    scored[place] = logits[index]
            _score([rows[index] for index in extended], scored, [tokens[index] for index in extended])
        for row, token, is_finite in zip(rows, tokens, finite.tolist(), strict=True):
            try:
                row.accept(token if is_finite else -1, self._vocabulary, forces=monotonic() < until)
            except GenerationFailed as error:
                yield [RowFailed(row, error)]
            else:
                yield []


def _score(rows: list[Row], logits: torch.Tensor, tokens: list[int]) -> None:
    """Notes the log-probabilities of the chosen tokens where they are asked for."""
    asking = defaultdict[int, list[int]](list)
    for index, (row, token) in enumerate(zip(rows, tokens, strict=True)):
        if row.extras is not None and row.extras.logprobs is not None and token >= 0:
            asking[row.extras.logprobs].append(index)
    for count, indexes in asking.items():
        own = logits if len(indexes) == len(rows) else logits[torch.tensor(indexes, device=logits.device)]
        if any(extras is not None and extras.at_temperature for extras in (rows[index].extras for index in indexes)):
            own = own / torch.tensor([_scored_at(rows[index]) for index in indexes], device=own.device)[:, None]
        chosen = torch.tensor([tokens[index] for index in indexes], device=logits.device)
        for index, score in zip(indexes, scores_of(own, chosen, count), strict=True):
            rows[index].scores.append(score)


def _scored_at(row: Row) -> float:
    return warmth(row) if row.extras is not None and row.extras.at_temperature else 1.0


def _next_scores(row: Row, logits: torch.Tensor, prompt: list[int]) -> list[Score | None]:
    """Scores of the prompt's tokens that follow those of `logits`; the last token of the prompt has none after it."""
    assert row.extras is not None
    following = prompt[len(row.prompt_scores) :][: len(logits)]
    tokens = torch.tensor(following, dtype=torch.long, device=logits.device)
    return [*scores_of(logits[: len(following)], tokens, row.extras.logprobs or 0)]


def _end_of(seconds: float | None) -> float:
    return inf if seconds is None else monotonic() + seconds


def _width(pending: list[int]) -> int:
    """Columns of the next pass. Forced tokens come in runs: as many as half of the rows can use, others are padded."""
    return sorted(pending)[(len(pending) - 1) // 2]
