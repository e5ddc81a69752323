"""Keys and values of the running rows, in buffers with room to grow: joining, leaving and each token copy little.

All rows share a right edge; shorter rows are padded on the left, and the mask says which columns count.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicLayer

SPARE_COLUMNS = 64


class Slab:
    """A tensor [rows, heads, columns, size] that grows by rows and by columns on either side."""

    def __init__(self) -> None:
        self._buffer: torch.Tensor | None = None
        self.rows = self._start = self._end = 0

    @property
    def columns(self) -> int:
        return self._end - self._start

    def view(self) -> torch.Tensor:
        assert self._buffer is not None
        return self._buffer[: self.rows, :, self._start : self._end]

    def write(self, chunk: torch.Tensor) -> torch.Tensor:
        """Adds columns on the right. The first chunk becomes the buffer, so do not use it afterwards."""
        width = chunk.shape[2]
        if self._buffer is None:
            self._buffer, self.rows, self._start, self._end = chunk, chunk.shape[0], 0, width
            return chunk
        if self._end + width > self._buffer.shape[2]:
            self._move(self.rows, left=0, right=width + SPARE_COLUMNS + self.columns // 2)
        self._buffer[: self.rows, :, self._end : self._end + width] = chunk
        self._end += width
        return self.view()

    def append(self, other: Slab) -> None:
        """Adds the other's rows below, aligned at the right edge."""
        assert other._buffer is not None
        if self.rows == 0:
            self._buffer, self.rows, self._start, self._end = other._buffer, other.rows, other._start, other._end
            return
        assert self._buffer is not None
        old_rows, missing = self.rows, max(0, other.columns - self.columns)
        rows = old_rows + other.rows
        if rows > self._buffer.shape[0] or missing > self._start:
            spare_rows = max(rows, min(2 * old_rows, rows + 64))
            self._move(spare_rows, left=missing, right=SPARE_COLUMNS)
        self.rows = rows
        self._start -= missing
        # The mask hides an earlier row's values, but a NaN times zero is still NaN.
        self._buffer[:old_rows, :, self._start : self._start + missing] = 0
        self._buffer[old_rows:rows, :, self._start : self._end - other.columns] = 0
        self._buffer[old_rows:rows, :, self._end - other.columns : self._end] = other.view()

    def keep(self, rows: int, moves: list[tuple[slice, slice]]) -> None:
        """Keeps the first rows, after each move of rows."""
        if self._buffer is None:
            return
        used = self._buffer[:, :, self._start : self._end]
        for source, target in moves:
            used[target] = used[source]
        self.rows = rows
        if rows == 0:
            self._buffer = None
            self._start = self._end = 0

    def trim(self, columns: int) -> None:
        self._start += columns

    def _move(self, rows: int, left: int, right: int) -> None:
        """The new memory is not cleared: callers write the rest of it before a pass reads it."""
        used = self.view()
        fresh = used.new_empty(rows, used.shape[1], left + self.columns + right, used.shape[3])
        fresh[: self.rows, :, left : left + self.columns] = used
        self._start, self._end = left, left + self.columns
        self._buffer = fresh


class RowLayer(DynamicLayer):  # type: ignore[no-untyped-call, misc, unused-ignore]
    """One layer's keys and values, as transformers asks for them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.key_slab, self.value_slab = Slab(), Slab()
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_args: Any, **_options: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return self.key_slab.write(key_states), self.value_slab.write(value_states)

    def get_seq_length(self) -> int:
        return self.key_slab.columns


class RowCache(Cache):  # type: ignore[misc, unused-ignore]
    def __init__(self) -> None:
        super().__init__(layer_class_to_replicate=RowLayer)
        self._mask = Slab()

    def extend_mask(self, chunk: torch.Tensor) -> torch.Tensor:
        """Marks which of the columns about to be written count; the mask [rows, columns] of all."""
        return self._mask.write(chunk[:, None, :, None])[:, 0, :, 0]

    def ready(self, count: int) -> list[RowLayer]:
        """So many layers, new ones where there were fewer."""
        while len(self.layers) < count:
            self.layers.append(RowLayer())
        return self.layers  # type: ignore[no-any-return, unused-ignore]

    def append(self, other: RowCache) -> None:
        self.ready(len(other.layers))
        for mine, theirs in zip(self._slabs(), other._slabs(), strict=True):
            if theirs.rows:
                mine.append(theirs)

    def part(self, rows: list[int]) -> RowCache:
        """Copies of these rows, in this order."""
        part = RowCache()
        part.layers = [RowLayer() for _ in self.layers]
        for mine, copied in zip(self._slabs(), part._slabs(), strict=True):
            if mine.rows:
                copied.write(mine.view()[rows])
        part._trim()
        return part

    def keep(self, kept: list[int]) -> list[int]:
        """Drops every row but these (ascending); the last ones fill the holes. Returns each row's old index."""
        rows = len(kept)
        stay = {index for index in kept if index < rows}
        moved = iter(kept[len(stay) :])
        order = [index if index in stay else next(moved) for index in range(rows)]
        moves = _moves(order)
        for slab in self._slabs():
            slab.keep(rows, moves)
        self._trim()
        return order

    def _trim(self) -> None:
        if self._mask.rows == 0:
            return
        used = self._mask.view()[:, 0, :, 0].any(dim=0)
        unused = int(used.to(torch.uint8).argmax())
        if unused > 0:
            for slab in self._slabs():
                slab.trim(unused)

    def _slabs(self) -> list[Slab]:
        layers = [slab for layer in self.layers for slab in (layer.key_slab, layer.value_slab)]
        return [self._mask, *layers]


def _moves(order: list[int]) -> list[tuple[slice, slice]]:
    """Pairs of the rows to copy and their new places. Neighbours that stay neighbours move together."""
    moves: list[tuple[slice, slice]] = []
    for target, source in enumerate(order):
        if source == target:
            continue
        if moves and moves[-1][0].stop == source and moves[-1][1].stop == target:
            last_source, last_target = moves.pop()
            moves.append((slice(last_source.start, source + 1), slice(last_target.start, target + 1)))
        else:
            moves.append((slice(source, source + 1), slice(target, target + 1)))
    return moves
