"""The rows of a run over several data sets: which set each visit takes a row of, and which of its rows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from anneal_runtime.trainer.batches import RowOrder


@dataclass(frozen=True)
class Sources:
    """Data sets by name, and their weights. A row names its set by the place in these lists."""

    names: list[str]
    weights: list[float]

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Sources | None:
        """None for the data of one set."""
        return cls(raw["sources"], raw["weights"]) if "sources" in raw else None

    def shares(self, numbers: Sequence[int] | None = None) -> list[float]:
        """The weights of these sets, or of all, as parts of 1."""
        weights = self.weights if numbers is None else [self.weights[number] for number in numbers]
        scaled = [weight / max(weights) for weight in weights]
        return [weight / sum(scaled) for weight in scaled]


class MixedOrder(RowOrder):
    """Each visit takes a row of the set that is furthest behind its share; of sets that are as far behind, the first.
    So a set is never more than a row ahead of its weight. The rows of a set come in passes, each in an order of its
    own. An epoch has as many visits as all sets have rows.
    """

    def __init__(
        self, sources: Sources, of_rows: Sequence[int], rows_per_step: int, seed: int, *, updates_per_batch: int = 1
    ) -> None:
        """`of_rows` has the set of each row. Every set has rows."""
        super().__init__(len(of_rows), rows_per_step, seed, updates_per_batch=updates_per_batch)
        self._names, self._turns = sources.names, _Turns(sources.shares())
        rows = [[row for row, source in enumerate(of_rows) if source == number] for number in range(len(self._names))]
        self._passes = [_Passes(of_set, f"{seed}:{number}") for number, of_set in enumerate(rows)]
        self._newest: tuple[tuple[int, int], list[int]] | None = None

    def _visits(self, epoch: int, first: int, end: int) -> list[int]:
        visits = (epoch * self.row_count + first, epoch * self.row_count + end)
        # The steps of one batch ask for the same visits.
        if self._newest is None or self._newest[0] != visits:
            self._turns.go_to(visits[0])
            taken = [self._turns.take() for _ in range(*visits)]
            self._newest = visits, [self._passes[source].row(number) for source, number in taken]
        return self._newest[1]

    def visited(self, step_count: int) -> set[int] | None:
        counts = self._counts(step_count)
        if all(count >= passes.length for count, passes in zip(counts, self._passes, strict=True)):
            return None
        return {
            passes.row(number)
            for count, passes in zip(counts, self._passes, strict=True)
            for number in range(min(count, passes.length))
        }

    def epochs(self, step_count: int) -> dict[str, float]:
        counts = zip(self._names, self._counts(step_count), self._passes, strict=True)
        return {name: count / passes.length for name, count, passes in counts}

    def _counts(self, step_count: int) -> list[int]:
        """Visits of each set in so many steps, at least one."""
        self.rows_of(step_count - 1)
        return self._turns.counts


class _Turns:
    """Which set each visit is for, and the number of its visits before."""

    def __init__(self, shares: list[float]) -> None:
        self._shares = shares
        self.go_to_start()

    def go_to_start(self) -> None:
        self._visit, self.counts = 0, [0] * len(self._shares)

    def go_to(self, visit: int) -> None:
        if visit < self._visit:
            self.go_to_start()
        while self._visit < visit:
            self.take()

    def take(self) -> tuple[int, int]:
        self._visit += 1
        behind = [share * self._visit - count for share, count in zip(self._shares, self.counts, strict=True)]
        source = behind.index(max(behind))
        self.counts[source] += 1
        return source, self.counts[source] - 1


class _Passes:
    """The rows of one set, again and again."""

    def __init__(self, rows: list[int], seed: str) -> None:
        self._rows, self._seed = rows, seed
        self._number, self._order = -1, rows

    @property
    def length(self) -> int:
        return len(self._rows)

    def row(self, number: int) -> int:
        """The row of the set's visit of this number, from 0."""
        number_of_pass, place = divmod(number, len(self._rows))
        if number_of_pass != self._number:
            self._number, self._order = number_of_pass, list(self._rows)
            random.Random(f"{self._seed}:{number_of_pass}").shuffle(self._order)
        return self._order[place]
