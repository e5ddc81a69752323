"""The cache's buffers against a plain list of rows, through joins, steps and departures in random order."""

import random

import pytest
import torch

from anneal_runtime.server.decoding.cache import RowCache, RowLayer


def column(number: float) -> torch.Tensor:
    return torch.full((1, 2, 1, 3), number)


def write(cache: RowCache, columns: list[list[float]]) -> None:
    """One pass: each row's new numbers, padded on the left as the batch pads them."""
    width = max(map(len, columns))
    padded = [[0.0] * (width - len(row)) + row for row in columns]
    counted = [[False] * (width - len(row)) + [True] * len(row) for row in columns]
    cache.extend_mask(torch.tensor(counted))
    states = torch.cat([torch.cat([column(number) for number in row], dim=2) for row in padded])
    cache.update(states, -states, 0)


def contents(cache: RowCache) -> list[list[float]]:
    layer = cache.layers[0]
    assert isinstance(layer, RowLayer)
    mask = cache._mask.view()[:, 0, :, 0]
    keys, values = layer.key_slab.view(), layer.value_slab.view()
    assert torch.equal(keys, -values), "they differ, or are no numbers"
    return [keys[row, 0, :, 0][mask[row]].tolist() for row in range(mask.shape[0])]


def test_rows_keep_their_columns_when_others_join_and_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    # New memory may hold anything. NaN is the worst: a mask counts it, and a pass spreads it to other numbers.
    monkeypatch.setattr(torch.Tensor, "new_empty", lambda like, *size: like.new_full(size, float("nan")))
    pick = random.Random(5)
    number = 0.0

    def fresh(count: int) -> list[float]:
        nonlocal number
        number += count
        return [number - index for index in range(count)]

    for _ in range(30):
        cache, rows = RowCache(), list[list[float]]()
        other, others = RowCache(), list[list[float]]()
        for _ in range(60):
            action = pick.choice(["join", "step", "step", "step", "leave", "move"])
            if action == "join":
                joining, new = RowCache(), [fresh(pick.choice([1, 5, 40, 200])) for _ in range(pick.randint(1, 5))]
                write(joining, new)
                cache.append(joining)
                rows += new
            elif action == "step" and rows:
                chunk = [fresh(pick.choice([1, 1, 1, 4])) for _ in rows]
                write(cache, chunk)
                rows = [row + more for row, more in zip(rows, chunk, strict=True)]
            elif action == "leave" and rows:
                kept = [index for index in range(len(rows)) if pick.random() < 0.6]
                rows = [rows[index] for index in cache.keep(kept)]
            elif action == "move" and rows:
                moved = [index for index in range(len(rows)) if pick.random() < 0.2]
                if moved:
                    other.append(cache.part(moved))
                    others += [rows[index] for index in moved]
                kept = [index for index in range(len(rows)) if index not in moved]
                rows = [rows[index] for index in cache.keep(kept)]
            if rows:
                assert contents(cache) == rows
            if others:
                assert contents(other) == others


def test_a_departed_row_leaves_no_numbers_that_could_poison_the_next() -> None:
    cache, joining = RowCache(), RowCache()
    write(cache, [[1.0] * 8, [float("nan")] * 8])
    cache.keep([0])
    write(joining, [[2.0]])
    cache.append(joining)
    layer = cache.layers[0]
    assert isinstance(layer, RowLayer)
    assert torch.isfinite(layer.key_slab.view()).all()
