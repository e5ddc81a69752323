"""Trains a model on rows, then answers prompts: each line in is {"source", "rows", "steps"} or {"prompts", "regex"}."""

import asyncio
import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "2")

import torch
from bare_engine import root, start_engine

from anneal_runtime.contract import DEFAULT_ARGS
from anneal_runtime.model_source import load_causal_lm, locate
from anneal_runtime.server import engine_requests
from anneal_runtime.server.decoding.grammar import Source
from anneal_runtime.server.decoding.rows import SamplingParams
from anneal_runtime.server.engine import Engine
from anneal_runtime.tokenization import TextEncoder, prompt_tokens
from anneal_runtime.trainer.adapter import add_adapter, trainable
from anneal_runtime.trainer.batches import RowOrder
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.objectives.supervised import Supervised
from anneal_runtime.trainer.rows import encode_rows
from anneal_runtime.trainer.step import OptimizerStep
from anneal_runtime.trainer.training_args import TrainingArgs, learning_rate_schedule, make_optimizer

ROWS_A_STEP = 16


def train(source: dict[str, Any], rows: list[dict[str, str]], steps: int, folder: Path) -> None:
    """Writes the tuned model, merged in float32."""
    usual = replace(TrainingArgs(**DEFAULT_ARGS), max_steps=steps, batch_size=ROWS_A_STEP, learning_rate=2e-3)
    args = replace(usual, r_value=32, lora_alpha=32, optim="adamw_torch")
    data = folder / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    loaded = load_causal_lm(locate(source, root), torch.device("cpu"), torch.float32)
    encoded = encode_rows(data, TextEncoder(loaded.tokenizer), max_length=256)
    model = add_adapter(loaded.model, args, print)
    model.train()
    optimizer = make_optimizer(args, list(trainable(model).values()), print)
    rate = learning_rate_schedule(args, optimizer, steps)
    objective = Supervised(ForwardPass(model), encoded)
    step = OptimizerStep(objective, optimizer, token_budget=2048, max_grad_norm=args.max_grad_norm)
    order = RowOrder(len(rows), ROWS_A_STEP, args.seed)
    # Half of the time; the adapter's own weights stay in float32.
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for number in range(steps):
            outcome = step.run(order.rows_of(number), rate(number))
            if number % 20 == 19:
                print(f"step {number + 1}: loss {float(outcome.loss):.3f}", file=sys.stderr, flush=True)
    model.merge_and_unload().save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)


def answer(engine: Engine, prompts: list[str], regex: str | None) -> list[str]:
    assert engine.generator is not None
    params = SamplingParams(max_tokens=96, temperature=0.0, top_p=1.0, seed=None, stop=())
    grammar = None if regex is None else engine.generator.grammars.compile(Source("regex", regex))
    tokens = prompt_tokens(engine.tokenizer, prompts)
    return [each.text for each in asyncio.run(engine_requests.generate(engine, tokens, params, grammar=grammar))]


engine: Engine | None = None
for line in sys.stdin:
    asked = json.loads(line)
    if "rows" in asked:
        with tempfile.TemporaryDirectory() as folder:
            train(asked["source"], asked["rows"], asked["steps"], Path(folder))
            engine = start_engine(
                {"name": "facts", "engine": "transformers", "source": {"path": folder}, "context_length": 2048}
            )
        print("{}", flush=True)
    else:
        assert engine is not None
        print(json.dumps(answer(engine, asked["prompts"], asked["regex"])), flush=True)
os._exit(0)
