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


def assign_sampling(
    fake: FakeAnneal, count: int, *, num_iterations: int = 2, rollouts: str = "inline", **args: Any
) -> None:
    """A training by reinforcement on so many prompts, and a third as many held-out ones."""
    rows = [{"input": row["input"], "item": {"n": n}} for n, row in enumerate(make_rows(count))]
    held_out = [{"input": row["input"], "item": {"n": n}} for n, row in enumerate(make_rows(count // 3, seed=8))]
    assign(fake, rows, held_out, split="held_out", **{"batch_size": 2, "save_steps": 3, "eval_steps": 3, **args})
    hyperparameters: dict[str, Any] = {
        "samples_per_prompt": 4,
        "max_completion_tokens": 10,
        "num_iterations": num_iterations,
    }
    hyperparameters["rollouts"] = rollouts
    fake.assignment |= {
        "method": {"type": "reinforcement", "reinforcement": {"hyperparameters": hyperparameters}},
        "grader": {"names": ["short"], "needs": ["text"]},
        "rollouts": [],
    }
    # The mood of the grader changes with each sample.
    fake.reward_of = lambda _sample: random.Random(len(fake.grades)).random()


def resume(fake: FakeAnneal) -> None:
    """The next attempt: claimed by a new process, from the newest checkpoint."""
    checkpoint = fake.artifact("checkpoint")
    fake.assignment |= {"attempt": fake.assignment["attempt"] + 1, "checkpoint": checkpoint}
    if "rollouts" in fake.assignment:
        # Updates on the same answers, and a validation that is due, may still need those of the checkpoint's step.
        fake.assignment["rollouts"] = fake.rollouts(after=(checkpoint or {"step": 0})["step"] - 2)
    fake.claim_ids.clear()
    fake.fenced = False
