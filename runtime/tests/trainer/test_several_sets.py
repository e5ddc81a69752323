"""A run over several data sets: its order, its held-out figures of each set, and that a resume changes nothing."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from support.answer_rows import judged, pairs
from support.assignments import make_rows
from support.training import Rows, Training, train

from anneal_runtime.trainer.batches import RowOrder
from anneal_runtime.trainer.failures import DataError
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.mixed_order import MixedOrder, Sources

A_AND_B = Sources(["a", "b"], [3.0, 1.0])


def rows_of_sets(*sets: Rows) -> list[dict[str, Any]]:
    return [{**row, "source": source} for source, rows in enumerate(sets) for row in rows]


def mixed(sizes: list[int], weights: list[float], rows_per_step: int, seed: int = 1, **more: int) -> MixedOrder:
    of_rows = [source for source, size in enumerate(sizes) for _ in range(size)]
    return MixedOrder(Sources([f"s{n}" for n in range(len(sizes))], weights), of_rows, rows_per_step, seed, **more)


def visits(order: RowOrder, steps: int) -> list[int]:
    return [row for step in range(steps) for row in order.rows_of(step)]


def test_the_row_of_a_visit_is_a_pure_function_of_the_seed_and_its_number() -> None:
    forwards, backwards, by_fives = (mixed([7, 4], [3, 1], size) for size in (4, 4, 5))
    steps = [forwards.rows_of(step) for step in range(9)]
    assert [backwards.rows_of(step) for step in reversed(range(9))] == steps[::-1]
    assert visits(by_fives, 9)[:33] == visits(forwards, 9)[:33], "steps of another size visit the same rows"
    other = mixed([7, 4], [3, 1], 4, seed=2)
    assert other.rows_of(0) != steps[0]
    assert [row < 7 for row in visits(other, 9)] == [row < 7 for row in visits(forwards, 9)]


@pytest.mark.parametrize(
    ("sizes", "weights"), [([50, 200], [3, 1]), ([5, 90, 30], [0.1, 0.2, 5]), ([9, 9], [1e300, 2e300])]
)
def test_each_set_has_its_share_of_any_first_visits_and_passes_of_its_own(
    sizes: list[int], weights: list[float]
) -> None:
    order = mixed(sizes, weights, 8)
    rows = visits(order, order.steps_per_epoch * 3)
    assert len(rows) == 3 * sum(sizes), "epochs count passes over the sum of the rows"
    starts = [sum(sizes[:source]) for source in range(len(sizes))]
    source_of = [max(source for source, start in enumerate(starts) if start <= row) for row in rows]
    for end in (1, 10, 50, len(rows)):
        for source, weight in enumerate(weights):
            count = source_of[:end].count(source)
            assert abs(count - end * (weight / sum(weights))) < len(sizes) - 0.5
    for source, size in enumerate(sizes):
        mine = [row for row, of in zip(rows, source_of, strict=True) if of == source]
        passes = [mine[first : first + size] for first in range(0, len(mine), size)]
        assert all(len(set(each)) == len(each) for each in passes)
        whole = [each for each in passes if len(each) == size]
        assert len({tuple(each) for each in whole}) == len(whole), "each pass has an order of its own"
        assert order.epochs(order.steps_per_epoch * 3)[f"s{source}"] == len(mine) / size


def test_sets_with_their_row_counts_as_weights_are_visited_once_in_an_epoch() -> None:
    order = mixed([30, 7, 63], [30, 7, 63], 8)
    assert Counter(visits(order, order.steps_per_epoch)) == Counter(range(100))


def test_the_visited_rows_are_those_of_all_steps() -> None:
    for steps in (1, 3, 40):
        order = mixed([4, 50], [1, 1], 5)
        assert mixed([4, 50], [1, 1], 5).visited(steps) in (set(visits(order, steps)), None)
    assert mixed([4, 50], [1, 1], 5).visited(23) is None


def test_steps_of_one_batch_see_the_same_rows() -> None:
    order, plain = mixed([4, 50], [1, 2], 5, updates_per_batch=3), mixed([4, 50], [1, 2], 5)
    assert [order.rows_of(step) for step in range(9)] == [plain.rows_of(step // 3) for step in range(9)]


@pytest.mark.parametrize(("name", "named"), [([], "lines 6, 4, 41"), (["a"], "a, line 6; a, line 4; a, line 41")])
def test_refused_rows_are_named_by_the_lines_of_their_own_files(name: list[str], named: str, tmp_path: Path) -> None:
    """Rows 1 and 2 are of one pair, and the lines between 4 and 40 are left out or set aside."""
    runs = [[0, 5], [1, 6], [2, 6], [3, 4], [4, 40]]
    (tmp_path / "train.lines").write_text("".join(f"{json.dumps([*run, *name])}\n" for run in runs))
    rows: list[dict[str, Any]] = make_rows(6)
    for number in (1, 2, 3, 5):
        rows[number] = {"input": "a " * 200, "output": "b"}
    with pytest.raises(DataError, match=rf"^4 rows are longer than 100 tokens \({named}\)"):
        train(tmp_path, rows, None, overlong="refuse", max_length=100)


METHODS = {"supervised": None, "dpo": {"type": "dpo"}, "kto": {"type": "kto"}}


@pytest.mark.parametrize("method", METHODS)
def test_a_resume_of_a_run_over_two_sets_is_exact(method: str, tmp_path: Path) -> None:
    makes = {"supervised": make_rows, "dpo": pairs, "kto": judged}[method]
    rows, held_out = rows_of_sets(makes(7), makes(12)[7:]), rows_of_sets(makes(20)[12:16], makes(20)[16:])
    args: dict[str, Any] = {"max_steps": 12, "eval_steps": 4, "lora_dropout": 0.1, "keep": "best"}
    args |= {"method": Method.from_json(METHODS[method]), "sources": A_AND_B}
    whole = train(tmp_path / "whole", rows, held_out, **args, save_steps=5)
    for step in (5, 10):
        resumed = train(tmp_path / f"{step}", rows, held_out, **args, checkpoint=whole.checkpoints[step])
        names = ("loss", "valid_loss", "series", "grad_norm")
        seen = whole.series(*names)
        assert resumed.series(*names) == {each: seen[each] for each in seen if each > step}
        assert all(torch.equal(value, whole.weights[name]) for name, value in resumed.weights.items())
    validated = whole.rows[8]
    of_sets = [validated["series"][f"valid_loss/{name}"] for name in "ab"]
    assert validated["valid_loss"] == pytest.approx(0.75 * of_sets[0] + 0.25 * of_sets[1]) and of_sets[0] != of_sets[1]
    assert whole.rows[12]["series"]["epoch/a"] == pytest.approx(36 / 7)
    assert "a 5.14 times, b 2.40 times" in whole.notes["data_sets_mixed"]


def test_the_held_out_loss_of_a_set_is_that_of_its_rows_alone(tmp_path: Path) -> None:
    a, b, c = make_rows(6), make_rows(12)[6:], make_rows(8, seed=8)
    args: dict[str, Any] = {"max_steps": 2, "eval_steps": 2}

    def losses(folder: str, rows: Rows, held_out: Rows, sources: Sources | None) -> dict[str, Any]:
        training: Training = train(tmp_path / folder, rows, held_out, **args, learning_rate=0.0, sources=sources)
        row = training.rows[2]
        return {"valid_loss": row["valid_loss"], **row.get("series", {})}

    alone = losses("alone", a, c[:4], None)["valid_loss"]
    both = losses("both", rows_of_sets(a, b), rows_of_sets(c[:4], c[4:]), A_AND_B)
    assert both["valid_loss/a"] == pytest.approx(alone, rel=1e-6)
    one = losses("one", rows_of_sets(a, b), [{**row, "source": 1} for row in c[4:]], A_AND_B)
    assert one["valid_loss"] == one["valid_loss/b"] == pytest.approx(both["valid_loss/b"]) and "valid_loss/a" not in one
    given = losses("given", rows_of_sets(a, b), c[:4], A_AND_B)
    assert given["valid_loss"] == pytest.approx(alone, rel=1e-6) and "valid_loss/a" not in given


def test_a_set_without_a_row_that_fits_is_refused_by_name(tmp_path: Path) -> None:
    long = [{"input": "a " * 200, "output": "b"}]
    args: dict[str, Any] = {"overlong": "drop", "max_length": 100, "sources": A_AND_B}
    with pytest.raises(DataError, match="No row of the data set b is left"):
        train(tmp_path, rows_of_sets(make_rows(6), long), None, **args)
