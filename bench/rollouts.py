"""Reinforcement in the trainer: sampling beside transformers' generate, and the loop's own share of a step.

    PYTHONPATH=runtime python bench/rollouts.py [--base DIR] [--prompts 8] [--answers 8] [--tokens 128]
        [--steps 10] [--rounds 3]

Both sides of the sampling run alternately in this one process, on the same weights and prompts, with the same limit of
tokens; generate is called as TRL 1.16 calls it: prompts repeated and padded on the left, through PEFT's layers. Figures
are processor time. The loop's own share of a step is all but sampling, passes, the optimizer and the grader, which is a
function here. The share of sampling that is no pass goes for the drawing of tokens.
"""

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

import torch
import transformers
from transformers import GenerationConfig

from anneal_runtime.contract import DEFAULT_ARGS
from anneal_runtime.model_source import load_causal_lm
from anneal_runtime.server.decoding.forward import TorchForward
from anneal_runtime.tokenization import TextEncoder
from anneal_runtime.trainer.adapter import Origin, add_adapter, trainable
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.prepare_run import prepare_run
from anneal_runtime.trainer.rollouts.prepare import RolloutPlan
from anneal_runtime.trainer.rollouts.sample import Asked, Place, Sampler
from anneal_runtime.trainer.training_args import TrainingArgs
from anneal_runtime.trainer.training_run import Plan

TINY = Path(__file__).resolve().parents[1] / "models" / "anneal-tiny"
COLOURS = ("Aurora Kettle", "Basalt Lamp", "Cobalt Drill", "Drift", "Ember Lamp of the north")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("prompts", 8), ("answers", 8), ("tokens", 128), ("steps", 10), ("rounds", 3), ("rank", 64)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--base", type=Path, default=TINY, help="a folder with a model (default: anneal-tiny)")
    options = parser.parse_args()
    transformers.utils.logging.set_verbosity_error()
    compare_sampling(options)
    share_of_loop(options)


def make_args(options: argparse.Namespace) -> TrainingArgs:
    changed = {"r_value": options.rank, "lora_alpha": options.rank, "batch_size": options.prompts}
    return replace(
        TrainingArgs(**DEFAULT_ARGS), **changed, gradient_accumulation_steps=1, optim="adamw_torch", learning_rate=1e-4
    )


def make_texts(count: int) -> list[str]:
    chance = random.Random(1)
    return [f"Question: What colour is {chance.choice(COLOURS)} {number}?\nAnswer: " for number in range(count)]


def compare_sampling(options: argparse.Namespace) -> None:
    base = load_causal_lm(options.base, torch.device("cpu"))
    model = add_adapter(base.model, make_args(options), lambda _code, message: print(message))
    with torch.no_grad():
        for parameter in trainable(model).values():
            parameter.copy_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3)) * 0.01)
    prompts = TextEncoder(base.tokenizer).prompts(make_texts(options.prompts))
    sampler = Sampler(model, base, seed=1, temperature=1.0, top_p=1.0, max_tokens=options.tokens)
    ours, theirs, lengths = [], [], list[int]()
    for number in range(options.rounds + 1):
        asked = [
            Asked(Place("train", number + 1, row, index), prompt, False)
            for row, prompt in enumerate(prompts)
            for index in range(options.answers)
        ]
        seconds, sampled = timed(partial(sampler.sample, asked))
        others, tokens = timed(lambda: generate(model, base.tokenizer, prompts, options))
        lengths = [len(each.tokens) for each in sampled]
        print(
            f"{len(asked)} answers: ours {seconds:.2f} s for {sum(lengths)} tokens, generate {others:.2f} s, {tokens}"
        )
        if number > 0:
            ours.append(seconds / sum(lengths))
            theirs.append(others / tokens)
    ratios = [other / own for own, other in zip(ours, theirs, strict=True)]
    shown = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"Lengths of ours: {min(lengths)} to {max(lengths)}, median {statistics.median(lengths):.0f}")
    print(f"Processor time of a token, generate / ours: {shown} (target 2)")


@torch.no_grad()
def generate(model: Any, tokenizer: Any, prompts: list[list[int]], options: argparse.Namespace) -> int:
    """The tokens that count: each answer up to its end."""
    width = max(map(len, prompts))
    repeated = [prompt for prompt in prompts for _ in range(options.answers)]
    ids = torch.tensor([[0] * (width - len(prompt)) + prompt for prompt in repeated])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in repeated])
    end = tokenizer.eos_token_id
    config = GenerationConfig(
        max_new_tokens=options.tokens,
        do_sample=True,
        temperature=1.0,
        top_p=1.0,
        top_k=0,
        eos_token_id=end,
        pad_token_id=0,
    )
    model.eval()
    made = model.generate(input_ids=ids, attention_mask=mask, generation_config=config, disable_compile=True)
    answers = made[:, width:].tolist()
    return sum(answer.index(end) + 1 if end in answer else len(answer) for answer in answers)


class Files:
    """Writes what a job would upload."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, _step: int, _name: str) -> None:
        return None

    def commit(self, step: int, name: str, lines: list[dict[str, Any]]) -> None:
        (self._folder / f"{step}-{name}").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


class Grader:
    def grade(self, _step: int, _split: str, samples: list[dict[str, Any]]) -> dict[str, Any]:
        graded = []
        for sample in samples:
            value = 1.0 / (1 + sample["tokens"])
            place = {"row": sample["row"], "index": sample["index"]}
            graded.append({**place, "reward": value, "grades": {"short": value}, "error": None})
        return {"graded": graded, "waiting": [], "waiting_for": None}


def share_of_loop(options: argparse.Namespace) -> None:
    hyperparameters = {"samples_per_prompt": options.answers, "max_completion_tokens": options.tokens}
    method = Method.from_json({"type": "reinforcement", "reinforcement": {"hyperparameters": hyperparameters}})
    with tempfile.TemporaryDirectory() as name, ExitStack() as patches:
        folder = Path(name)
        rows = [{"input": text, "item": {}} for text in make_texts(options.prompts * 4)]
        (folder / "train").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        args = replace(make_args(options), max_steps=options.steps, save_steps=1000)
        rollouts = RolloutPlan(Files(folder), Grader(), ["short"])
        origin = Origin("base", "", "")
        plan = Plan(args, method, origin, folder / "train", None, folder, None, None, rollouts=rollouts)
        run = prepare_run(plan, load_causal_lm(options.base, torch.device("cpu")), lambda _code, _message: None)
        spent = {"sampling": 0.0, "trainer's passes": 0.0, "backward": 0.0, "optimizer": 0.0, "grader": 0.0}
        for part, owner, call in (
            ("sampling", Sampler, "sample"),
            ("trainer's passes", ForwardPass, "logits"),
            ("backward", torch.autograd, "backward"),
            ("optimizer", run.optimizer, "step"),
            ("grader", Grader, "grade"),
        ):
            patches.enter_context(mock.patch.object(owner, call, counting(spent, part, getattr(owner, call))))
        of_sampling = {"passes": 0.0}
        feed = counting(of_sampling, "passes", TorchForward.feed)
        patches.enter_context(mock.patch.object(TorchForward, "feed", feed))
        whole, _ = timed(lambda: run.follow(lambda: False))
    drawing = spent["sampling"] - of_sampling["passes"]
    parts = ", ".join(f"{part} {seconds / whole:.1%}" for part, seconds in spent.items())
    loop = 1 - sum(spent.values()) / whole
    print(
        f"{options.steps} steps: {whole / options.steps:.2f} s each. {parts}; of the sampling, drawing "
        f"{drawing / whole:.1%} of all; the loop's own {loop:.1%} (target 5 %)"
    )


def counting(spent: dict[str, float], part: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*arguments: Any, **named: Any) -> Any:
        seconds, result = timed(lambda: call(*arguments, **named))
        spent[part] += seconds
        return result

    return counted


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    since = time.process_time()
    result = work()
    return time.process_time() - since, result


if __name__ == "__main__":
    main()
