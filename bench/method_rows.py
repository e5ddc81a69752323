"""Rows of mixed length for a training by each method, in the forms of TRL and of a prepared file."""

import random
from collections.abc import Callable
from typing import Any

ROWS, PROMPTS, ANSWERS = 48, 8, 8
WORDS = "the a price of red blue chair table is was seven lamp garden quiet river long and then under"
Row = dict[str, Any]


def words(rng: random.Random, median: int) -> str:
    count = min(max(round(rng.lognormvariate(0, 0.8) * median), 3), 10 * median)
    return " ".join(rng.choice(WORDS.split()) for _ in range(count))


def made(count: int, make: Callable[[random.Random], Row]) -> list[Row]:
    rng = random.Random(3)
    # A prompt that ends in a line break has the same tokens together with its answer and apart.
    return [{"prompt": words(rng, 20) + "\n", **make(rng)} for _ in range(count)]


def rewarded(rng: random.Random) -> Row:
    answers = [words(rng, 20) for _ in range(ANSWERS)]
    return {"completions": answers, "rewards": [round(rng.random(), 3) for _ in answers]}


ROWS_OF: dict[str, Callable[[], list[Row]]] = {
    "supervised": lambda: made(ROWS, lambda rng: {"completion": words(rng, 25)}),
    "dpo": lambda: made(ROWS, lambda rng: {"chosen": words(rng, 25), "rejected": words(rng, 25)}),
    "kto": lambda: made(ROWS, lambda rng: {"completion": words(rng, 25), "label": rng.random() < 0.5}),
    "reinforcement": lambda: made(PROMPTS, rewarded),
}


def prepared(row: Row) -> Row:
    asked = {"input": row["prompt"]}
    if "completions" in row:
        return {**asked, "answers": row["completions"], "rewards": row["rewards"]}
    if "label" in row:
        return {**asked, "answer": row["completion"], "label": row["label"]}
    if "chosen" in row:
        return {**asked, "chosen": row["chosen"], "rejected": row["rejected"]}
    return {**asked, "output": row["completion"]}
