"""Several LoRA adapters over one base: each linear layer adds its rows' own deltas to what the base computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import nn

from anneal_runtime.server.decoding.adapter_stack import Placement, Stacks


@dataclass(frozen=True, eq=False)
class Adapter:
    """`layers` maps a linear layer's name to its two factors, [in, r] and [r, out], the second already scaled."""

    name: str
    layers: dict[str, tuple[torch.Tensor, torch.Tensor]] = field(repr=False)


@dataclass(frozen=True)
class Segment:
    adapter: Adapter
    rows: slice | torch.Tensor
    whole: bool


class AdapterRouter:
    """Hooks on the base's linear layers. Rows without an adapter cost nothing; rows of one adapter, two products.

    Rows of several adapters cost two products for each, and two for all of them once they have run for some passes.
    """

    def __init__(self, model: nn.Module) -> None:
        self._device = next(model.parameters()).device
        self._hooked: set[str] = set()
        self.linears = {name: layer for name, layer in model.named_modules() if isinstance(layer, nn.Linear)}
        self._stacks = Stacks(self._device)
        self._segments: list[Segment] = []
        self._placement: Placement | None = None

    def prepare(self, adapter: Adapter) -> None:
        """Call once before the first row of the adapter runs."""
        for name in adapter.layers.keys() - self._hooked:
            self.linears[name].register_forward_hook(self._hook(name))
            self._hooked.add(name)

    @contextmanager
    def routing(self, adapters: Sequence[Adapter | None]) -> Iterator[None]:
        """For the forward passes inside, row i of the batch answers with adapters[i] on top of the base."""
        rows_of = _rows_by_adapter(adapters)
        self._placement = self._stacks.place(rows_of, len(adapters))
        if self._placement is None:
            self._segments = [self._segment(adapter, rows, len(adapters)) for adapter, rows in rows_of.items()]
        try:
            yield
        finally:
            self._segments, self._placement = [], None

    def _segment(self, adapter: Adapter, rows: list[int], count: int) -> Segment:
        if rows[-1] - rows[0] + 1 == len(rows):
            return Segment(adapter, slice(rows[0], rows[-1] + 1), len(rows) == count)
        return Segment(adapter, torch.tensor(rows, device=self._device), False)

    def _hook(self, name: str):  # type: ignore[no-untyped-def]
        def add_deltas(_layer: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
            if self._placement is not None:
                _check_rows(output)
                self._placement.add_deltas(name, inputs[0], output)
            for segment in self._segments:
                factors = segment.adapter.layers.get(name)
                if factors is not None:
                    _add_delta(inputs[0], output, factors, segment)

        return add_deltas


def _rows_by_adapter(adapters: Sequence[Adapter | None]) -> dict[Adapter, list[int]]:
    groups: dict[Adapter, list[int]] = {}
    for row, adapter in enumerate(adapters):
        if adapter is not None:
            groups.setdefault(adapter, []).append(row)
    return groups


def _check_rows(output: torch.Tensor) -> None:
    if output.dim() != 3:
        raise RuntimeError("This model mixes the rows of a batch in a layer that an adapter changes.")


def _add_delta(
    inputs: torch.Tensor, output: torch.Tensor, factors: tuple[torch.Tensor, torch.Tensor], segment: Segment
) -> None:
    down, up = factors
    if segment.whole:
        output.view(-1, output.shape[-1]).addmm_(inputs.reshape(-1, inputs.shape[-1]) @ down, up)
        return
    _check_rows(output)
    if isinstance(segment.rows, slice):
        part = output[segment.rows]
        part.view(-1, part.shape[-1]).addmm_(inputs[segment.rows].reshape(-1, inputs.shape[-1]) @ down, up)
    else:
        delta = inputs[segment.rows].reshape(-1, inputs.shape[-1]) @ down @ up
        output.index_add_(0, segment.rows, delta.view(len(segment.rows), -1, output.shape[-1]))
