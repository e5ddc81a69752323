"""The running batch: one forward pass a step for all rows, whatever request or adapter they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from anneal_runtime.server.decoding.cache import RowCache
from anneal_runtime.server.decoding.lora import AdapterRouter
from anneal_runtime.server.decoding.rows import GenerationFailed, Row, Vocabulary
from anneal_runtime.server.decoding.sampling import next_tokens

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from anneal_runtime.server.decoding.grammar import Grammars


@dataclass(frozen=True)
class Joining:
    rows: list[Row]
    cache: RowCache


class RowFailed(Exception):
    def __init__(self, row: Row, cause: Exception) -> None:
        super().__init__(str(cause))
        self.row, self.cause = row, cause


class RunningBatch:
    def __init__(
        self, model: PreTrainedModel, router: AdapterRouter, grammars: Grammars, vocabulary: Vocabulary
    ) -> None:
        self._model, self._router, self._grammars, self._vocabulary = model, router, grammars, vocabulary
        self.rows: list[Row] = []
        self._cache = RowCache()

    def read(self, rows: list[Row]) -> tuple[Joining, list[RowFailed]]:
        """Reads the rows' prompts and samples their first tokens, apart from the batch. Returns what failed, too."""
        failures = []
        for row in rows:
            try:
                row.start(self._vocabulary)
            except GenerationFailed as error:
                failures.append(RowFailed(row, error))
        failed = {failure.row for failure in failures}
        rows, cache = [row for row in rows if row.answer is None and row not in failed], RowCache()
        if rows:
            failures += self._forward(rows, max(len(row.pending) for row in rows), cache)
        return Joining(rows, cache), failures

    def join(self, joining: Joining) -> None:
        if joining.rows:
            self._cache.append(joining.cache)
            self.rows += joining.rows

    def step(self) -> list[RowFailed]:
        """One more token for every row. Returns what failed; the caller drops finished and failed rows."""
        return self._forward(self.rows, _width([len(row.pending) for row in self.rows]), self._cache)

    def drop(self, gone: Sequence[bool]) -> None:
        """Drops row i if gone[i]."""
        if any(gone):
            order = self._cache.keep([index for index, is_gone in enumerate(gone) if not is_gone])
            self.rows = [self.rows[index] for index in order]

    def clear(self) -> list[Row]:
        """Drops all rows and returns them: after an error in a forward pass the cache may be wrong."""
        rows, self.rows, self._cache = self.rows, [], RowCache()
        return rows

    def _forward(self, rows: list[Row], width: int, cache: RowCache) -> list[RowFailed]:
        chunks = [row.pending[:width] for row in rows]
        device = self._model.device
        tokens = torch.tensor([[0] * (width - len(chunk)) + chunk for chunk in chunks], device=device)
        counts = torch.tensor([len(chunk) for chunk in chunks], device=device)[:, None]
        cached = torch.tensor([row.cached for row in rows], device=device)[:, None]
        offsets = torch.arange(width, device=device)[None, :] - (width - counts)
        mask = cache.extend_mask(offsets >= 0)
        with self._router.routing([row.request.adapter for row in rows]):
            output = self._model(
                input_ids=tokens,
                attention_mask=mask,
                position_ids=(cached + offsets).clamp(min=0),
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )
        for row, chunk in zip(rows, chunks, strict=True):
            row.fed(len(chunk))
        return self._sample(rows, output.logits[:, -1].float())

    def _sample(self, rows: list[Row], logits: torch.Tensor) -> list[RowFailed]:
        ready = [index for index, row in enumerate(rows) if not row.pending]
        if len(ready) < len(rows):
            rows, logits = [rows[index] for index in ready], logits[torch.tensor(ready, device=logits.device)]
        if not rows:
            return []
        # Checked before the grammars' masks, which could hide infinities.
        finite = torch.isfinite(logits.amax(dim=-1))
        self._grammars.restrict(logits, [row.matcher for row in rows])
        failures = []
        for row, token, is_finite in zip(rows, next_tokens(logits, rows), finite.tolist(), strict=True):
            try:
                row.accept(token if is_finite else -1, self._vocabulary)
            except GenerationFailed as error:
                failures.append(RowFailed(row, error))
        return failures


def _width(pending: list[int]) -> int:
    """Columns of the next pass. Forced tokens come in runs: as many as half of the rows can use, others are padded."""
    return sorted(pending)[(len(pending) - 1) // 2]
