"""Processor time of a training by each method: ours against TRL, on the same rows of mixed length in the same order.

    npm run bench -- methods [--only dpo] [--steps 8] [--rounds 3]

Neither counts the loading of the model. Ours counts the encoding of the rows, too; TRL encodes them in its constructor,
which is not counted. Both run in turn in this one process, on one thread; the last losses must agree.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import datasets
import torch
import transformers
from datasets import Dataset, disable_progress_bars
from method_rows import ANSWERS, PROMPTS, ROWS_OF, Row, prepared
from peft import LoraConfig
from torch.utils.data import SequentialSampler
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, KTOConfig, KTOTrainer, SFTConfig, SFTTrainer

from anneal_runtime.contract import DEFAULT_ARGS
from anneal_runtime.model_source import choose_device, load_causal_lm
from anneal_runtime.trainer.adapter import Origin
from anneal_runtime.trainer.batches import RowOrder
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.prepare_run import prepare_run
from anneal_runtime.trainer.training_args import TrainingArgs
from anneal_runtime.trainer.training_run import Plan

# dill, with which datasets hashes, pickles modules outside of an installation by value, which fails for pyarrow.
sys.real_prefix = str(Path(datasets.__file__).resolve().parents[1])  # type: ignore[attr-defined]

MODEL = Path(__file__).resolve().parents[1] / "models" / "anneal-tiny"
RANK, BATCH, ITERATIONS = 64, 8, 3
TARGETS = {"supervised": 2.5, "dpo": 2.0, "kto": 2.0, "reinforcement": 2.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=TARGETS, action="append")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    transformers.utils.logging.set_verbosity_error()
    disable_progress_bars()
    torch.set_num_threads(1)
    differ = [
        name for name in options.only or TARGETS if not compare(name, options.steps, options.rounds, TARGETS[name])
    ]
    sys.exit(f"the losses differ: {', '.join(differ)}" if differ else 0)


def compare(name: str, steps: int, rounds: int, target: float) -> bool:
    steps = ITERATIONS if name == "reinforcement" else steps
    args = replace(
        TrainingArgs(**DEFAULT_ARGS),
        max_steps=steps,
        batch_size=PROMPTS if name == "reinforcement" else BATCH,
        gradient_accumulation_steps=1,
        r_value=RANK,
        lora_alpha=RANK,
        learning_rate=5e-4,
        warmup_steps=0,
        optim="adamw_torch",
    )
    rows = ROWS_OF[name]()
    ratios = []
    for number in range(rounds + 1):
        ours, our_loss = train_ours(name, rows, args)
        theirs, their_loss = train_theirs(name, in_order(rows, args, name), args)
        if number == 0:
            continue  # the first round warms both up
        ratios.append(theirs / ours)
        print(
            f"{name}, round {number}: ours {ours:.1f} s, TRL {theirs:.1f} s; last loss {our_loss:.6f}, {their_loss:.6f}"
        )
    spread = f"from {min(ratios):.2f} to {max(ratios):.2f}"
    print(f"{name}: TRL / ours {statistics.median(ratios):.2f} ({spread}; at least {target})", flush=True)
    return abs(our_loss - their_loss) <= 1e-3 * max(1.0, abs(our_loss))


def hyperparameters(name: str) -> Row:
    return {"num_iterations": ITERATIONS} if name == "reinforcement" else {}


def in_order(rows: list[Row], args: TrainingArgs, name: str) -> list[Row]:
    """The rows as our run visits them."""
    order = RowOrder(len(rows), args.rows_per_step, args.seed)
    steps = 1 if name == "reinforcement" else args.max_steps
    return [rows[number] for step in range(steps) for number in order.rows_of(step)]


def train_ours(name: str, rows: list[Row], args: TrainingArgs) -> tuple[float, float]:
    method = Method.from_json({"type": name, name: {"hyperparameters": hyperparameters(name)}})
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "train.jsonl"
        data.write_text("".join(f"{json.dumps(prepared(row))}\n" for row in rows))
        plan = Plan(args, method, Origin("bench", "", ""), data, None, Path(folder), None, None)
        base = load_causal_lm(MODEL, choose_device())
        started = time.process_time()
        run = prepare_run(plan, base, lambda _code, _message: None)
        run.follow(lambda: False)
        return time.process_time() - started, float(run.newest.loss)


class InOrder:
    """A trainer of TRL that visits the rows of its data set as they are."""

    train_dataset: Any

    def _get_train_sampler(self, dataset: Any = None) -> SequentialSampler:
        return SequentialSampler(dataset if dataset is not None else self.train_dataset)


class OrderedSft(InOrder, SFTTrainer): ...


class OrderedDpo(InOrder, DPOTrainer): ...


class OrderedKto(InOrder, KTOTrainer): ...


def train_theirs(name: str, rows: list[Row], args: TrainingArgs) -> tuple[float, float]:
    loaded = load_causal_lm(MODEL, choose_device())
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(args.seed)
        trainer = make_trainer(name, rows, loaded, settings(folder, args))
        trainer.remove_callback(transformers.PrinterCallback)
        started = time.process_time()
        trainer.train()
        seconds = time.process_time() - started
        losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        return seconds, float(losses[-1])


def settings(folder: str, args: TrainingArgs, dtype: torch.dtype = torch.float32) -> Row:
    return {
        "output_dir": folder,
        "max_steps": args.max_steps,
        "per_device_train_batch_size": args.batch_size,
        "learning_rate": args.learning_rate,
        "lr_scheduler_type": args.lr_scheduler_type,
        "max_grad_norm": args.max_grad_norm,
        "optim": args.optim,
        "weight_decay": 0.0,
        "seed": args.seed,
        "save_strategy": "no",
        "logging_steps": 1,
        "report_to": [],
        "disable_tqdm": True,
        "use_cpu": not torch.cuda.is_available(),
        "bf16": dtype is torch.bfloat16,
        "gradient_checkpointing": False,
    }


def make_trainer(name: str, rows: list[Row], loaded: Any, shared: Row, **more: Any) -> Any:
    made_of = {
        "model": loaded.model,
        "processing_class": loaded.tokenizer,
        "peft_config": LoraConfig(r=RANK, lora_alpha=RANK, lora_dropout=0.0, target_modules="all-linear"),
    }
    if name == "reinforcement":
        return grpo(rows, made_of, shared)
    trainer, config = {
        "supervised": (OrderedSft, SFTConfig),
        "dpo": (OrderedDpo, DPOConfig),
        "kto": (OrderedKto, KTOConfig),
    }[name]
    return trainer(args=config(max_length=None, **shared, **more), train_dataset=Dataset.from_list(rows), **made_of)


def grpo(rows: list[Row], made_of: Row, shared: Row) -> Any:
    """A trainer that gets recorded answers in place of sampling."""
    tokenizer = made_of["processing_class"]
    answers = [answer for row in rows for answer in row["completions"]]
    rewards = [reward for row in rows for reward in row["rewards"]]

    def recorded(prompts: list[str], _trainer: Any) -> Row:
        ids = [[*tokenizer(answer, add_special_tokens=False).input_ids, tokenizer.eos_token_id] for answer in answers]
        return {
            "prompt_ids": [tokenizer(prompt).input_ids for prompt in prompts],
            "completion_ids": ids,
            "logprobs": None,
        }

    config = GRPOConfig(
        **{**shared, "per_device_train_batch_size": len(answers)},
        num_generations=ANSWERS,
        num_iterations=ITERATIONS,
        steps_per_generation=1,
        max_completion_length=512,
        shuffle_dataset=False,
        epsilon_high=0.28,  # ours; TRL's is that of epsilon
        beta=0.0,
    )
    return GRPOTrainer(
        args=config,
        reward_funcs=lambda **_: rewards,
        rollout_func=recorded,
        train_dataset=Dataset.from_list([{"prompt": row["prompt"]} for row in rows]),
        **made_of,
    )


if __name__ == "__main__":
    main()
