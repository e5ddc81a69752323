"""`python -m anneal_runtime.trainer.replay`: a training on files, without a service, with a line for every step.

It runs the code of a job. Look into a step with it, or hold the trainer against the figures of another one.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from anneal_runtime.log import log
from anneal_runtime.model_source import choose_device, load_causal_lm
from anneal_runtime.trainer.adapter import Origin, save_adapter
from anneal_runtime.trainer.failures import DataError
from anneal_runtime.trainer.four_bit import NF4, load_in_4bit
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.mixed_order import Sources
from anneal_runtime.trainer.prepare_run import prepare_run
from anneal_runtime.trainer.training_args import TrainingArgs
from anneal_runtime.trainer.training_run import Plan

SPEC = """the specification as JSON: {"args": {...}, "method": {...}}. `args` are those of finetune_args; absent ones
have the defaults of the service. `method` is as in a request; without it the method is supervised. Rows of several data
sets have a "source", the place of their set in "data": {"sources": [names], "weights": [numbers]}"""


def main() -> int:
    asked = _parser().parse_args()
    try:
        replay(asked)
    except (DataError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def replay(asked: argparse.Namespace) -> None:
    spec = json.loads(asked.spec.read_text())
    method = Method.from_json(spec.get("method"))
    data, option = (asked.rollouts, "--rollouts") if method.type == "reinforcement" else (asked.rows, "--rows")
    if data is None:
        raise ValueError(f"A training by {method.type} needs {option}.")
    args = _args(spec)
    base = (load_in_4bit if args.load_in_4bit else load_causal_lm)(asked.base, choose_device(0))
    with TemporaryDirectory() as folder, asked.out.open("w", encoding="utf-8") as out:
        rows = Path(folder) / "train.jsonl"
        rows.write_text("".join(f"{json.dumps(_of_set(json.loads(line)))}\n" for line in _lines(data)))
        origin = Origin(asked.base.resolve().name, "", "", trained_on=NF4 if args.load_in_4bit else None)
        sources = Sources.from_json(spec.get("data", {}))
        plan = Plan(args, method, origin, rows, None, Path(folder), None, asked.start, sources)
        run = prepare_run(plan, base, lambda _code, message: log(message))

        def write() -> None:
            newest, step = run.newest, run.state.step
            row = {"step": step, "loss": float(newest.loss), "grad_norm": float(newest.grad_norm), **run.series()}
            out.write(json.dumps({**row, "learning_rate": run.learning_rate(step - 1)}) + "\n")

        run.follow(lambda: False, each_step=write)
        if asked.save is not None:
            save_adapter(run.model, asked.save, origin, run.state.step)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m anneal_runtime.trainer.replay", description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="the folder of the base model")
    parser.add_argument("--spec", type=Path, required=True, help=SPEC)
    parser.add_argument("--rows", type=Path, help="the rows, as JSON Lines")
    parser.add_argument("--rollouts", type=Path, help="for reinforcement: lines of prompt, completions and rewards")
    parser.add_argument("--start", type=Path, help="the adapter to train on; without it a new one is made")
    parser.add_argument("--out", type=Path, required=True, help="where the steps are written, as JSON Lines")
    parser.add_argument("--save", type=Path, help="a folder for the adapter after the last step")
    return parser


def _args(spec: dict[str, Any]) -> TrainingArgs:
    given = {**spec.get("finetune_args", {}), **spec.get("args", {})}
    args = TrainingArgs.from_json(given, lambda _code, message: log(message))
    method = spec.get("method") or {}
    asked = method.get(method.get("type"), {}).get("hyperparameters", {})
    if "batch_size" in asked:
        args = replace(args, batch_size=asked["batch_size"], gradient_accumulation_steps=1)
    if "n_epochs" in asked:
        args = replace(args, num_train_epochs=asked["n_epochs"])
    return replace(args, learning_rate=args.learning_rate * asked.get("learning_rate_multiplier", 1))


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _of_set(row: dict[str, Any]) -> dict[str, Any]:
    """The prepared row, which keeps the name of its data set."""
    prepared = _prepared(row)
    return {**prepared, "source": row["source"]} if "source" in row else prepared


def _prepared(row: dict[str, Any]) -> dict[str, Any]:
    """A row as the service gives it to a trainer, from the plainest forms of files."""
    if "text" in row:
        return {"input": "", "output": row["text"]}
    if "preferred_output" in row:
        return {**row["input"], "chosen": row["preferred_output"], "rejected": row["non_preferred_output"]}
    if "prompt" in row:
        asked = row["prompt"]
        row = {**row, **({"input": asked} if isinstance(asked, str) else {"messages": asked})}
    if "completions" in row:
        return {**row, "answers": row["completions"]}
    if "completion" in row:
        return {**row, "answer": row["completion"]} if "label" in row else {**row, "output": row["completion"]}
    if "messages" in row and "label" in row:
        return {**row, "messages": row["messages"][:-1], "answer": row["messages"][-1:]}
    if "messages" in row and "chosen" not in row and "learned" not in row:
        spoken = [number for number, message in enumerate(row["messages"]) if message["role"] == "assistant"]
        return {**row, "learned": spoken}
    return row


if __name__ == "__main__":
    sys.exit(main())
