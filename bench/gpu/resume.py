"""Trainings that a signal ends and a new process resumes, against one that nothing stops, each a process of its own.

The trainer promises equal bits on a CPU. This bench says whether the GPU gives them, too.
"""

import signal
import tempfile
from pathlib import Path
from typing import Any

import torch
from support.assignments import assign, make_rows, resume
from support.fake_anneal import FakeAnneal
from support.trainer_process import start_trainer

ARGS: dict[str, Any] = {
    "max_steps": 120,
    "lora_dropout": 0.1,
    "batch_size": 3,
    "gradient_accumulation_steps": 2,
    "save_steps": 7,
}
# Tests hide the GPU from their processes.
SEES_GPU: dict[str, Any] = {"CUDA_VISIBLE_DEVICES": "0"} if torch.cuda.is_available() else {}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for optim in ("adamw_torch", "adafactor"):
            whole, _ = train(Path(folder) / optim / "whole", optim, None)
            for number in (signal.SIGTERM, signal.SIGKILL):
                (losses, adapter), step = train(Path(folder) / optim / number.name, optim, number)
                apart = max(abs(loss - whole[0][at]) for at, loss in losses.items())
                equal = "equal bit for bit" if (losses, adapter) == whole else f"losses differ by {apart:.1e} at most"
                print(f"{optim}, {number.name}, resumed after step {step}: {equal}", flush=True)


def train(folder: Path, optim: str, number: signal.Signals | None) -> tuple[tuple[dict[int, float], bytes], int]:
    """((losses by step, the adapter's bytes), the step that the resumed training started from)."""
    anneal = FakeAnneal(assignment={}).start()
    assign(anneal, make_rows(17), optim=optim, **ARGS)
    trainer = start_trainer(anneal.url, folder / "first", **SEES_GPU)
    step = 0
    if number is not None:
        anneal.wait_for(lambda: 20 in anneal.steps and anneal.artifact("checkpoint") is not None)
        trainer.signal(number)
        trainer.exit_code()
        step = (anneal.artifact("checkpoint") or {})["step"]
        if anneal.artifact("model") is not None:
            raise SystemExit("The training ended before the signal.")
        resume(anneal)
        trainer = start_trainer(anneal.url, folder / "second", **SEES_GPU)
    if trainer.exit_code() != 0:
        raise SystemExit(trainer.log)
    anneal.stop()
    losses = {step: row["loss"] for step, row in anneal.steps.items()}
    return (losses, anneal.content("model")["adapter_model.safetensors"]), step


if __name__ == "__main__":
    main()
