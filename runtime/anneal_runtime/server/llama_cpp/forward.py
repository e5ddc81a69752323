"""Forward passes of rows, and vectors of texts, by llama.cpp."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch

from anneal_runtime.server.decoding.rows import GenerationFailed
from anneal_runtime.server.llama_cpp.model import LlamaModel, Piece

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anneal_runtime.server.decoding.rows import Row
    from anneal_runtime.server.llama_cpp.adapter import LlamaAdapter

# Texts that are read at once.
MOST_TEXTS = 8


class Sequences:
    """The sequences of a batch's rows, in their order. What is gone leaves its sequences to others."""

    def __init__(self, model: LlamaModel) -> None:
        self._model, self.numbers = model, list[int]()
        # Sequences that have moved to another cache.
        self._moved = set[int]()

    def __del__(self) -> None:
        self._leave(self.numbers)

    def append(self, other: Sequences) -> None:
        self.numbers += other.numbers
        other.numbers = []

    def part(self, rows: list[int]) -> Sequences:
        part = Sequences(self._model)
        part.numbers = [self.numbers[row] for row in rows]
        self._moved.update(part.numbers)
        return part

    def keep(self, kept: list[int]) -> list[int]:
        stay = [self.numbers[row] for row in kept]
        self._leave(set(self.numbers) - set(stay))
        self.numbers = stay
        return kept

    def _leave(self, numbers: Iterable[int]) -> None:
        self._model.leave(set(numbers) - self._moved)
        self._moved.clear()


class LlamaForward:
    def __init__(self, model: LlamaModel) -> None:
        self._model = model
        self.vocabulary_size = model.vocabulary_size

    def new_cache(self) -> Sequences:
        return Sequences(self._model)

    def feed(self, rows: list[Row], chunks: list[list[int]], cache: Sequences, kept: int) -> torch.Tensor:
        """One pass for each adapter: llama.cpp applies an adapter to all rows of a pass."""
        if not cache.numbers:
            cache.numbers = self._model.take_sequences(len(rows))
        logits = torch.zeros(len(rows), kept, self.vocabulary_size)
        groups: dict[LlamaAdapter | None, list[int]] = {}
        for index, (row, chunk) in enumerate(zip(rows, chunks, strict=True)):
            if chunk:
                groups.setdefault(row.request.adapter, []).append(index)
        for adapter, indexes in groups.items():
            pieces = [
                Piece(cache.numbers[index], rows[index].cached, chunks[index], min(kept, len(chunks[index])))
                for index in indexes
            ]
            results, done = torch.from_numpy(self._model.run(pieces, adapter)), 0
            for index, piece in zip(indexes, pieces, strict=True):
                logits[index, kept - piece.outputs :] = results[done : done + piece.outputs]
                done += piece.outputs
        return logits


class LlamaEncoder:
    """Needs MOST_TEXTS sequences, and room for `most_tokens`, the longest window."""

    def __init__(self, model: LlamaModel, most_tokens: int) -> None:
        self._model, self._most_tokens = model, most_tokens

    def sums(self, windows: list[list[int]], adapter: LlamaAdapter | None) -> NDArray[np.float32]:
        """[windows, size]: the sum of the last hidden states of each window."""
        sums = np.concatenate([self._sums(group, adapter) for group in self._groups(windows)])
        if not np.isfinite(sums).all():
            raise GenerationFailed("The model gave numbers that are not finite.")
        return sums

    def _groups(self, windows: list[list[int]]) -> Iterator[list[list[int]]]:
        group, tokens = list[list[int]](), 0
        for window in windows:
            if group and (len(group) == MOST_TEXTS or tokens + len(window) > self._most_tokens):
                yield group
                group, tokens = [], 0
            group.append(window)
            tokens += len(window)
        yield group

    def _sums(self, windows: list[list[int]], adapter: LlamaAdapter | None) -> NDArray[np.float32]:
        sequences = self._model.take_sequences(len(windows))
        try:
            pieces = [
                Piece(sequence, 0, window, len(window)) for sequence, window in zip(sequences, windows, strict=True)
            ]
            hidden = self._model.run(pieces, adapter, hidden=True)
        finally:
            self._model.leave(sequences)
        starts = np.cumsum([0, *(len(window) for window in windows[:-1])])
        return np.add.reduceat(hidden, starts, axis=0)
