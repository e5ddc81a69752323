"""Which rows an optimizer step sees, and how they are laid out for the device.

The first is a pure function of (seed, step), which makes runs resumable; the second only saves padding: rows of a step
are sorted by length and cut into microbatches where that costs least, which changes no gradient but for rounding.
"""

import random
from collections.abc import Sequence


class RowOrder:
    """Every epoch visits each row once, in an order of its own; the last step of an epoch may be smaller."""

    def __init__(self, row_count: int, rows_per_step: int, seed: int, *, updates_per_batch: int = 1) -> None:
        """`updates_per_batch` steps in a row see the same rows."""
        self.row_count, self._rows_per_step, self._seed = row_count, rows_per_step, seed
        self._updates_per_batch = updates_per_batch
        self._batches_per_epoch = -(-row_count // rows_per_step)
        self.steps_per_epoch = self._batches_per_epoch * updates_per_batch
        self._epoch = -1
        self._order: list[int] = []

    def rows_of(self, step: int) -> list[int]:
        """Row numbers of a step, counted from 0."""
        epoch, within = divmod(step // self._updates_per_batch, self._batches_per_epoch)
        first = within * self._rows_per_step
        return self._visits(epoch, first, min(first + self._rows_per_step, self.row_count))

    def _visits(self, epoch: int, first: int, end: int) -> list[int]:
        """The rows of these visits of an epoch, counted from 0."""
        if epoch != self._epoch:
            self._epoch, self._order = epoch, list(range(self.row_count))
            random.Random(f"{self._seed}:{epoch}").shuffle(self._order)
        return self._order[first:end]

    def visited(self, step_count: int) -> set[int] | None:
        """Rows that a run of so many steps sees; None for all."""
        if step_count >= self.steps_per_epoch:
            return None
        return {row for step in range(step_count) for row in self.rows_of(step)}

    def epochs(self, step_count: int) -> dict[str, float]:
        """Passes over each data set in so many steps, by its name; none for a single set."""
        del step_count
        return {}


def deal_rows(lengths: Sequence[int], share_count: int) -> list[list[int]]:
    """Positions 0..n-1 in shares of about equal length, for processes that work beside each other; some may be empty.

    By rows, not by microbatches: of these a step often has only one.
    """
    shares: list[list[int]] = [[] for _ in range(share_count)]
    loads = [0] * share_count
    for position in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        lightest = loads.index(min(loads))
        shares[lightest].append(position)
        loads[lightest] += lengths[position]
    return [sorted(share) for share in shares]


def plan_microbatches(lengths: Sequence[int], token_budget: int, overhead_tokens: int) -> list[list[int]]:
    """Splits positions 0..n-1 into groups of like length, longest first.

    Minimises padded tokens plus `overhead_tokens` per group (the fixed price of a forward and backward pass); no group
    holds more than `token_budget` padded tokens unless it is a single row.
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    # best[j]: least cost of the first j rows in order; cut[j]: where its last group starts.
    best, cut = [0.0] + [float("inf")] * len(order), [0] * (len(order) + 1)
    for start in range(len(order)):
        longest = max(lengths[order[start]], 1)
        most = min(len(order) - start, max(token_budget // longest, 1))
        for end in range(start + 1, start + most + 1):
            cost = best[start] + longest * (end - start) + overhead_tokens
            if cost < best[end]:
                best[end], cut[end] = cost, start
    groups: list[list[int]] = []
    end = len(order)
    while end > 0:
        groups.append(order[cut[end] : end])
        end = cut[end]
    return groups[::-1]


def pack_microbatches(lengths: Sequence[int], token_budget: int) -> list[list[int]]:
    """Splits positions 0..n-1 into groups that are laid end to end, longest first. A row goes to the first group with
    room for it; no group holds more than `token_budget` tokens unless it is a single row.
    """
    groups: list[list[int]] = []
    room: list[int] = []
    for position in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        length = lengths[position]
        number = next((number for number, left in enumerate(room) if left >= length), None)
        if number is None:
            groups.append([position])
            room.append(token_budget - length)
        else:
            groups[number].append(position)
            room[number] -= length
    return groups
