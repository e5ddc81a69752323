"""What tests let the trainer do: rows whose answers can be learned, and claims for them."""

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from anneal_runtime.contract import DEFAULT_ARGS
from support.fake_anneal import FakeAnneal

SPEC_HASH = "ab" * 32


def make_rows(count: int, seed: int = 7) -> list[dict[str, str]]:
    rng = random.Random(seed)
    names = [a + " " + b for a in ("Aurora", "Basalt", "Cobalt", "Drift", "Ember") for b in ("Kettle", "Lamp", "Drill")]
    colours = ["teal", "amber", "ivory", "crimson", "slate"]
    return [
        {
            "input": f"Question: What colour is {rng.choice(names)} {number}?\nAnswer: ",
            "output": " ".join(f"It comes in {rng.choice(colours)}." for _ in range(rng.choice([1, 1, 1, 2, 4]))),
        }
        for number in range(count)
    ]


def json_lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def assign(
    fake: FakeAnneal,
    rows: Sequence[Mapping[str, Any]],
    evaluation: Sequence[Mapping[str, Any]] | None = None,
    *,
    split: str = "train",
    answer_tokens: int | None = 8,
    **args: Any,
) -> dict[str, Any]:
    """
    Sets the claim's answer: a training of these rows from the start.

    Args:
        answer_tokens: the limit of an evaluation's answers. Models that are hardly trained rarely stop before it
    """
    evaluated = evaluation if evaluation is not None else rows[:2]
    defaults = {
        "max_steps": 12,
        "learning_rate": 2e-3,
        "save_steps": 1000,
        "batch_size": 4,
        "gradient_accumulation_steps": 1,
        "max_length": 512,
        "optim": "adamw_torch",
        "r_value": 8,
        "lora_alpha": 8,
    }
    fake.assignment |= {
        "job_id": 7,
        "attempt": 1,
        "mode": "train",
        "base_model": {"name": "anneal-tiny", "source": {"path": "models/anneal-tiny"}, "sha256": None},
        "spec_hash": SPEC_HASH,
        "args": {**DEFAULT_ARGS, **defaults, **args},
        "data": {
            "train": {**fake.store("train", json_lines(rows)), "rows": len(rows)},
            "evaluation": {
                **fake.store("evaluation", json_lines(evaluated)),
                "rows": len(evaluated),
                "split": split,
            },
        },
        "checkpoint": None,
        "model": None,
        "evaluation": {"max_rows": None, "max_tokens": answer_tokens},
    }
    return fake.assignment


def resume(fake: FakeAnneal) -> None:
    """The next attempt: claimed by a new process, from the newest checkpoint."""
    fake.assignment |= {"attempt": fake.assignment["attempt"] + 1, "checkpoint": fake.artifact("checkpoint")}
    fake.claim_ids.clear()
    fake.fenced = False
