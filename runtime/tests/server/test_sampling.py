import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
import torch

from anneal_runtime.server.decoding.extras import Extras
from anneal_runtime.server.decoding.sampling import next_tokens


@dataclass
class FakeRow:
    temperature: float = 1.0
    top_p: float = 1.0
    stream: random.Random = field(default_factory=lambda: random.Random(3))
    extras: Extras | None = None

    def draw(self) -> float:
        return 1.0 - self.stream.random()


PROBABILITIES = [0.5, 0.3, 0.15, 0.05, 0.0]


def drawn(row: FakeRow, count: int = 4000) -> dict[int, float]:
    logits = torch.tensor([PROBABILITIES]).log().expand(count, -1)
    counts = Counter(next_tokens(logits, [row] * count))
    return {token: times / count for token, times in counts.items()}


def test_tokens_come_as_often_as_their_probability_says() -> None:
    shares = drawn(FakeRow())
    assert [shares.get(token, 0.0) for token in range(5)] == pytest.approx(PROBABILITIES, abs=0.03)


def test_top_p_keeps_the_likeliest_that_reach_it() -> None:
    shares = drawn(FakeRow(top_p=0.6))
    assert [shares.get(token, 0.0) for token in range(5)] == pytest.approx([0.625, 0.375, 0, 0, 0], abs=0.03)
    assert drawn(FakeRow(top_p=1e-6)) == {0: 1.0}


def test_temperature_sharpens_and_zero_is_greedy() -> None:
    squared = [share**2 for share in PROBABILITIES]
    shares = drawn(FakeRow(temperature=0.5))
    assert [shares.get(token, 0.0) for token in range(5)] == pytest.approx(
        [s / sum(squared) for s in squared], abs=0.03
    )
    assert drawn(FakeRow(temperature=0), count=5) == {0: 1.0}


def test_each_row_follows_its_own_settings() -> None:
    logits = torch.tensor([PROBABILITIES] * 3).log()
    rows = [FakeRow(temperature=0), FakeRow(stream=random.Random(8)), FakeRow(top_p=1e-6)]
    alone = [next_tokens(logits[:1], [FakeRow(stream=random.Random(8))])[0] for _ in range(1)]
    assert next_tokens(logits, rows) == [0, alone[0], 0]


def test_the_extremes_of_the_random_stream_never_pick_an_impossible_token() -> None:
    class Fixed(FakeRow):
        value = 1.0

        def draw(self) -> float:
            return self.value

    row = Fixed()
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf, 0.0, -torch.inf]])
    assert next_tokens(logits, [row]) == [3]
    row.value = 2.0**-53
    assert next_tokens(logits, [row]) == [1]


def test_rows_that_are_not_finite_are_told_apart() -> None:
    logits = torch.tensor([[0.0, 1.0], [torch.nan, 1.0], [torch.inf, 0.0], [-torch.inf, -torch.inf]])
    for temperature in (0.0, 1.0):
        assert next_tokens(logits, [FakeRow(temperature=temperature) for _ in range(4)]) == [1, -1, -1, -1]
