import random

import pytest

from anneal_runtime.trainer.batches import RowOrder, deal_rows, pack_microbatches, plan_microbatches


def test_the_order_is_a_pure_function_of_seed_and_step() -> None:
    forwards, backwards = RowOrder(11, 4, seed=1), RowOrder(11, 4, seed=1)
    steps = [forwards.rows_of(step) for step in range(9)]
    assert [backwards.rows_of(step) for step in reversed(range(9))] == steps[::-1]
    assert RowOrder(11, 4, seed=2).rows_of(0) != steps[0]


def test_an_epoch_visits_each_row_once_in_an_order_of_its_own() -> None:
    order = RowOrder(11, 4, seed=1)
    epochs = [[row for step in range(3) for row in order.rows_of(3 * epoch + step)] for epoch in range(2)]
    assert [sorted(epoch) for epoch in epochs] == [list(range(11))] * 2
    assert epochs[0] != epochs[1]
    assert order.visited(2) == set(epochs[0][:8]) and order.visited(3) is None


@pytest.mark.parametrize("seed", range(5))
def test_microbatches_hold_each_row_once_within_the_budget_and_pad_little(seed: int) -> None:
    rng = random.Random(seed)
    lengths = [min(int(rng.lognormvariate(4.5, 0.8)), 900) for _ in range(40)]
    groups = plan_microbatches(lengths, token_budget=1000, overhead_tokens=32)
    assert sorted(row for group in groups for row in group) == list(range(40))
    padded = [max(lengths[row] for row in group) * len(group) for group in groups]
    assert all(tokens <= 1000 for tokens in padded)
    assert sum(padded) < 1.3 * sum(lengths) < 0.5 * 40 * max(lengths)


def test_a_row_beyond_the_budget_goes_alone() -> None:
    assert plan_microbatches([50, 2000, 40], token_budget=100, overhead_tokens=16) == [[1], [0, 2]]


def test_packed_microbatches_hold_each_row_once_within_the_budget_and_are_few() -> None:
    rng = random.Random(1)
    lengths = [*(min(int(rng.lognormvariate(4.5, 0.8)), 900) for _ in range(40)), 1500]
    groups = pack_microbatches(lengths, token_budget=1000)
    assert sorted(row for group in groups for row in group) == list(range(41))
    assert groups[0] == [40] and all(sum(lengths[row] for row in group) <= 1000 for group in groups[1:])
    assert len(groups) - 1 == -(-sum(lengths[:40]) // 1000)


def test_rows_are_dealt_in_shares_of_like_length() -> None:
    lengths = [90, 10, 10, 10, 40, 40, 15, 9]
    shares = deal_rows(lengths, 2)
    assert sorted(shares[0] + shares[1]) == list(range(8))
    assert abs(sum(lengths[i] for i in shares[0]) - sum(lengths[i] for i in shares[1])) <= min(lengths)
    assert deal_rows([5], 3) == [[0], [], []]
