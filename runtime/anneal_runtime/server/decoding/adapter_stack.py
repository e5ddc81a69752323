"""The factors of several adapters side by side, so that one product serves all of them instead of one for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from anneal_runtime.server.decoding.lora import Adapter

# With fewer adapters a product for each is faster.
FEWEST = 3
# Stacking copies the factors, so wait until the same adapters have run for some passes, and longer if a larger stack
# holds them: others of its adapters may come back.
STEADY_PASSES, STEADY_PASSES_WITHIN = 4, 32
# A product reads the factors of the whole stack: at most half as many again as are needed.
MOST_READ = 1.5
# The copies may take so much memory: 256 MB.
MOST_BYTES = 1 << 28
# Adapters with fewer rows than the others are padded. With more padding, a product for each adapter is faster.
MOST_PADDING = 3


@dataclass(frozen=True)
class Stack:
    """`layers` maps a linear layer's name to [adapters, in, r] and [adapters, r, out], the fastest order on a CPU."""

    adapters: tuple[Adapter, ...]
    layers: dict[str, tuple[torch.Tensor, torch.Tensor]]


@dataclass(frozen=True)
class Placement:
    """`taken` [adapters * places] names the row of each place, `rows` the rows with an adapter, `places` theirs."""

    stack: Stack
    taken: torch.Tensor
    places: torch.Tensor
    # None when every row has an adapter.
    rows: torch.Tensor | None

    def add_deltas(self, name: str, inputs: torch.Tensor, output: torch.Tensor) -> None:
        factors = self.stack.layers.get(name)
        if factors is None:
            return
        down, up = factors
        ours = inputs.index_select(0, self.taken).view(len(down), -1, inputs.shape[-1])
        deltas = torch.bmm(torch.bmm(ours, down), up).view(len(self.taken), -1, output.shape[-1])
        wanted = deltas.index_select(0, self.places)
        if self.rows is None:
            output.add_(wanted)
        else:
            output.index_add_(0, self.rows, wanted)


class Stacks:
    """Keeps one stack: that of the adapters which have run for some passes."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stack: Stack | None = None
        self._awaited: set[Adapter] = set()
        self._passes = 0

    def place(self, rows_of: dict[Adapter, list[int]], count: int) -> Placement | None:
        """None when a product for each adapter is better."""
        if len(rows_of) < FEWEST:
            return None
        stack = self._stack_of(set(rows_of))
        if stack is None:
            return None
        width = max(map(len, rows_of.values()))
        with_adapter = sorted(row for rows in rows_of.values() for row in rows)
        if width * len(stack.adapters) > MOST_PADDING * len(with_adapter):
            return None
        taken, place_of = [0] * (width * len(stack.adapters)), {}
        for index, adapter in enumerate(stack.adapters):
            for place, row in enumerate(rows_of.get(adapter, []), index * width):
                taken[place], place_of[row] = row, place
        is_whole = len(with_adapter) == count
        return Placement(
            stack,
            torch.tensor(taken, device=self._device),
            torch.tensor([place_of[row] for row in with_adapter], device=self._device),
            None if is_whole else torch.tensor(with_adapter, device=self._device),
        )

    def _stack_of(self, adapters: set[Adapter]) -> Stack | None:
        is_held = self._stack is not None and adapters <= set(self._stack.adapters)
        if self._stack is not None and is_held and len(self._stack.adapters) <= MOST_READ * len(adapters):
            self._awaited = set()
            return self._stack
        if not (adapters <= self._awaited and len(self._awaited) <= MOST_READ * len(adapters)):
            self._awaited, self._passes = adapters, 0
        self._passes += 1
        patience = STEADY_PASSES_WITHIN if is_held else STEADY_PASSES
        if self._passes < patience or _bytes_of(self._awaited) > MOST_BYTES:
            return None
        # Let go of the old copies before making new ones.
        self._stack = None
        self._stack = stacked(tuple(self._awaited))
        self._awaited = set()
        return self._stack


def stacked(adapters: tuple[Adapter, ...]) -> Stack:
    """A missing layer and the missing part of a lower rank are zeros."""
    names = {name for adapter in adapters for name in adapter.layers}
    return Stack(adapters, {name: _stacked_layer([adapter.layers.get(name) for adapter in adapters]) for name in names})


def _stacked_layer(
    factors: Sequence[tuple[torch.Tensor, torch.Tensor] | None],
) -> tuple[torch.Tensor, torch.Tensor]:
    known = [each for each in factors if each is not None]
    rank = max(down.shape[1] for down, _ in known)
    down, up = known[0]
    downs = down.new_zeros(len(factors), down.shape[0], rank)
    ups = up.new_zeros(len(factors), rank, up.shape[1])
    for index, each in enumerate(factors):
        if each is not None:
            downs[index, :, : each[0].shape[1]] = each[0]
            ups[index, : each[1].shape[0]] = each[1]
    return downs, ups


def _bytes_of(adapters: set[Adapter]) -> int:
    return sum(factor.nbytes for adapter in adapters for pair in adapter.layers.values() for factor in pair)
