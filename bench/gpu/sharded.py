"""A base that is shared by the processes of a run, on as many cards as there are, against whole bases: losses, tokens/s
and memory in use on the first card. One card is shared by nobody, but runs the same code: one process whose share is
the whole base. A CPU runs two small processes.

    python sharded.py MODEL [--alone]
"""

import os
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from support.assignments import assign, json_lines, make_rows
from support.fake_anneal import FakeAnneal
from support.trainer_process import start_trainer
from torch.distributed import HashStore  # type: ignore[attr-defined]

from anneal_runtime.contract import DEFAULT_ARGS
from anneal_runtime.model_source import choose_device, default_dtype, load_causal_lm
from anneal_runtime.settings import Placement
from anneal_runtime.trainer.adapter import Origin
from anneal_runtime.trainer.distributed import Ranks
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.prepare_run import prepare_run
from anneal_runtime.trainer.training_args import TrainingArgs
from anneal_runtime.trainer.training_run import Plan

CARDS = torch.cuda.device_count()
PROCESSES = CARDS or 2
ARGS: dict[str, Any] = {"max_steps": 20 if CARDS else 3, "batch_size": 8 * PROCESSES if CARDS else 4}


def main() -> None:
    train = run_alone if CARDS == 1 or "--alone" in sys.argv else run
    whole, shared = (train(Path(sys.argv[1]).resolve(), shards=shards) for shards in (False, True))
    apart = max(abs(ours - theirs) for ours, theirs in zip(shared, whole, strict=True))
    print(f"the losses of {len(whole)} steps differ by {apart:.1e} at most", flush=True)


def run(model: Path, *, shards: bool) -> list[float]:
    anneal = FakeAnneal(assignment={}).start()
    assign(anneal, make_rows(64 if CARDS else 12), **ARGS, shard_base=shards)
    anneal.assignment["base_model"]["source"] = {"path": str(model)}
    visible = ",".join(map(str, range(CARDS)))
    with tempfile.TemporaryDirectory() as folder:
        trainer = start_trainer(anneal.url, Path(folder), ANNEAL_PROCESSES=str(PROCESSES), CUDA_VISIBLE_DEVICES=visible)
        watch = Watch()
        code = trainer.exit_code()
        peak = watch.end()
        if code != 0:
            raise SystemExit(trainer.log)
    anneal.stop()
    steps = [row for _, row in sorted(anneal.steps.items())]
    speed = max(row.get("tokens_per_second") or 0.0 for row in steps)
    memory = f", {peak / 2**30:.1f} GiB in use" if CARDS else ""
    print(f"{'shared' if shards else 'whole'} base, {PROCESSES} processes: {speed:,.0f} tokens/s{memory}", flush=True)
    return [row["loss"] for row in steps]


def run_alone(model: Path, *, shards: bool) -> list[float]:
    """In this process, which is the only one of its run."""
    device = choose_device()
    args = replace(TrainingArgs(**DEFAULT_ARGS), **ARGS, optim="adamw_torch", gradient_accumulation_steps=1)
    ranks, base = None, load_causal_lm(model, torch.device("cpu") if shards else device, default_dtype(device, model))
    if shards:
        ranks, base = Ranks(Placement(), HashStore(), lambda: False), replace(base, shards_on=device)
    losses: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "train.jsonl"
        data.write_bytes(json_lines(make_rows(64)))
        plan = Plan(args, Method.from_json(None), Origin("bench", "", ""), data, None, Path(folder), None, None)
        run = prepare_run(plan, base, lambda _code, message: print(message), ranks)
        started = time.perf_counter()
        run.follow(lambda: False, lambda: losses.append(float(run.newest.loss)))
    speed = run.state.tokens_seen / (time.perf_counter() - started)
    print(f"{'shared' if shards else 'whole'} base, 1 process: {speed:,.0f} tokens/s", flush=True)
    return losses


class Watch:
    """The most memory in use on the first card."""

    def __init__(self) -> None:
        self._peak, self._ended = 0, threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while CARDS and not self._ended.is_set():
            free, total = torch.cuda.mem_get_info(0)
            self._peak = max(self._peak, total - free)
            time.sleep(0.05)

    def end(self) -> int:
        self._ended.set()
        self._thread.join()
        return self._peak


if __name__ == "__main__":
    os.environ.setdefault("TQDM_DISABLE", "1")
    main()
