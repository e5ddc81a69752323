"""What the trainer and our engine do on a GPU, in one command: python bench/gpu [--model FOLDER] [PART ...]

Runs on the machine's own Python, which needs the packages of runtime/pyproject.toml. Without a GPU all parts run small,
on the CPU. Parts, all of them by default:

    resume   trainings that SIGTERM and kill -9 end, resumed, against an uninterrupted one: equal bit for bit?
    memory   a step that does not fit into memory
    engine   tokens/s of our engine against transformers' generate, for 1, 8 and 64 prompts
    trainer  tokens/s and memory of the trainer against transformers' Trainer with peft
    methods  each method: tokens/s and memory beside TRL, with a 4-bit base, checkpointing and packed rows; exact resume
    sharded  a base that the cards share, against whole ones
    tests    the tests of the model server, computed in float32

The parts engine, trainer, methods and sharded take the weights of FOLDER, or random ones.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GPU = torch.cuda.is_available()


def commands(model: Path) -> dict[str, list[list[str | Path]]]:
    trainer: list[list[str | Path]] = [["--rows", "40", "--steps", "2", "--rounds", "1"]]
    if GPU:
        large = ["--model", model, "--rows", "1280", "--steps", "12"]
        trainer = [[*large, "--batch", "16", "--rounds", "3"], [*large, "--batch", "64", "--rounds", "1"]]
        trainer += [[*settings, "--packed"] for settings in trainer]
    return {
        "resume": [[HERE / "resume.py"]],
        "memory": [[HERE / "memory.py"]],
        "engine": [[HERE / "engine.py", model]],
        "trainer": [[ROOT / "bench/trainer.py", *each] for each in trainer],
        "methods": [[HERE / "compare_methods.py", model], [HERE / "resume_methods.py"]],
        "sharded": [[HERE / "sharded.py", model]],
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help="resume, memory, engine, trainer, methods, sharded or tests"
    )
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="weights, config and tokenizer of a causal model")
    options = parser.parse_args()
    asked = options.parts
    print(
        torch.cuda.get_device_name() if GPU else "No GPU: the CPU does a small version.", f"torch {torch.__version__}"
    )
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        model = options.model.resolve() if options.model else random_llama(Path(folder) / "llama")
        parts = commands(model)
        if unknown := set(asked) - set(parts):
            parser.error(f"There is no part named {', '.join(sorted(unknown))}.")
        for part in asked or parts:
            print(f"\n== {part}", flush=True)
            for command in parts[part]:
                folders = [ROOT / "runtime", ROOT / "runtime/tests", ROOT / "bench", os.environ.get("PYTHONPATH", "")]
                path = os.pathsep.join(map(str, folders))
                run = subprocess.run(
                    [sys.executable, *command], cwd=ROOT / "runtime", env={**os.environ, "PYTHONPATH": path}
                )
                if run.returncode != 0:
                    failed.append(part)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


main()
