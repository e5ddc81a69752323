"""What the trainer and our engine do on a GPU, in one command: python bench/gpu [--minutes N] [PART ...]

Runs on the machine's own Python, and says first which packages that lacks. Without a GPU all parts run small, on the
CPU. Parts, all of them by default, those that say most first:

    methods  each method: tokens/s and memory beside TRL, with packed rows, checkpointing, a 4-bit base
    resumes  each method, resumed after step 3 of 6: equal bit for bit?
    sharded  a base that the cards share, against a whole one
    trainer  tokens/s and memory of the trainer, padded and packed, against transformers' Trainer with peft
    resume   trainings that SIGTERM and kill -9 end, resumed, against an uninterrupted one: equal bit for bit?
    memory   a step that does not fit into memory
    engine   tokens/s of our engine against transformers' generate, for 1, 8 and 64 prompts
    tests    the tests of the model server, computed in float32

Each part is made of programs of their own: one that fails, or is ended because the time is over, costs no other. The
parts methods, resumes, sharded, trainer and engine take the weights of FOLDER, or random ones.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import torch
from packages import tell_packages

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GPU = torch.cuda.is_available()
METHODS = ("supervised", "reinforcement", "dpo", "kto")
# A program that would be ended sooner is not begun.
LEAST_S = 20.0
Command = list[str | Path]


def commands(model: Path, out: Path | None) -> dict[str, list[Command]]:
    kept: Command = [] if out is None else ["--out", out.resolve() / "methods.jsonl"]
    trainer: list[Command] = [["--rows", "40", "--steps", "2", "--rounds", "1"]]
    if GPU:
        large: Command = ["--model", model, "--rows", "1280", "--steps", "12", "--packed"]
        trainer = [[*large, "--batch", "16", "--rounds", "3"], [*large, "--batch", "64", "--rounds", "1"]]
    return {
        "methods": [[HERE / "compare_methods.py", model, "--only", each, *kept] for each in METHODS],
        "resumes": [[HERE / "resume_methods.py", model, each] for each in METHODS],
        "sharded": [[HERE / "sharded.py", model]],
        "trainer": [[ROOT / "bench/trainer.py", *each] for each in trainer],
        "resume": [[HERE / "resume.py"]],
        "memory": [[HERE / "memory.py"]],
        "engine": [[HERE / "engine.py", model]],
        "tests": [["-m", "pytest", "-v", "-p", "no:cacheprovider", *spread(), *tests()]],
    }


def random_llama(folder: Path) -> Path:
    size = "617M" if GPU else "76M"
    subprocess.run([sys.executable, ROOT / "bench/random_llama.py", folder, "--size", size], check=True)
    return folder


def tests() -> list[Path]:
    """Without those of programs, which see no GPU, and of embeddings, whose model is a package of its own."""
    without = {"test_process", "test_replicas", "test_embeddings"}
    return [path for path in sorted((ROOT / "runtime/tests/server").glob("test_*.py")) if path.stem not in without]


def spread() -> list[str]:
    """Over ten processes where pytest-xdist is installed."""
    return ["-n", str(min(10, os.cpu_count() or 1))] if find_spec("xdist") else []


def run(command: Command, until: float) -> str | None:
    """What went wrong."""
    if until - time.monotonic() < LEAST_S:
        return "not begun: the time is over"
    folders = [ROOT / "runtime", ROOT / "runtime/tests", ROOT / "bench", HERE, os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(map(str, folders))
    # The session lets killpg end the trainers that the program starts, too.
    program = subprocess.Popen(
        [sys.executable, "-u", *command],
        cwd=ROOT / "runtime",
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
    )
    try:
        code = program.wait(until - time.monotonic() if until < float("inf") else None)
    except subprocess.TimeoutExpired:
        return "ended: the time is over"
    finally:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()
    return None if code == 0 else f"exit code {code}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--only", action="append", metavar="PART", help="of the parts, only this; may be repeated")
    parser.add_argument("--minutes", type=float, metavar="N", help="for all parts together; no limit without it")
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="weights, config and tokenizer of a causal model")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="figures as lines of JSON, for later estimates")
    options = parser.parse_args()
    began = time.monotonic()
    until = began + (60 * options.minutes if options.minutes else float("inf"))
    print(
        torch.cuda.get_device_name() if GPU else "No GPU: the CPU does a small version.", f"torch {torch.__version__}"
    )
    tell_packages()
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        model = options.model.resolve() if options.model else Path(folder) / "llama"
        parts = commands(model, options.out)
        asked = options.only or options.parts or list(parts)
        if unknown := set(asked) - set(parts):
            parser.error(f"There is no part named {', '.join(sorted(unknown))}. The parts are {', '.join(parts)}.")
        if not options.model:
            random_llama(model)
        for part in asked:
            print(f"\n== {part}, after {time.monotonic() - began:.0f} s", flush=True)
            for command in parts[part]:
                wrong = run(command, until)
                if wrong is not None:
                    failed.append(part)
                    words = [each.name if isinstance(each, Path) else each for each in command]
                    print(f"{part}: {' '.join(words[:6])}: {wrong}", flush=True)
    print(f"\n{time.monotonic() - began:.0f} s", flush=True)
    sys.exit(f"failed: {', '.join(dict.fromkeys(failed))}" if failed else 0)


main()
