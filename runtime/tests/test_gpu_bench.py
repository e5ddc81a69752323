"""The programs that measure the methods on a GPU also run on a CPU: a card is seldom at hand to find their faults."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODEL = str(ROOT / "models/anneal-tiny")


@pytest.mark.parametrize(
    ("program", "arguments", "sentences"),
    [
        (
            "compare_methods",
            [MODEL, "--only", "kto"],
            [f"| kto | {each} | " for each in ("as it is", "packed", "4-bit")],
        ),
        (
            *("resume_methods", [MODEL, "reinforcement"]),
            [f"reinforcement{base}, resumed after step 3 of 6: equal bit for bit" for base in ("", ", 4-bit base")],
        ),
        # A machine with one card runs this.
        ("sharded", [MODEL, "--alone"], ["shared base, 1 process: ", "the losses of 3 steps differ by "]),
        pytest.param(
            *("sharded", [MODEL], ["shared base, 2 processes: ", "the losses of 3 steps differ by "]),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_program_of_the_gpu_bench_runs_small(program: str, arguments: list[str], sentences: list[str]) -> None:
    done = run(f"bench/gpu/{program}.py", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(sentence in done.stdout for sentence in sentences), done.stdout


def test_estimates_go_missing_with_a_sentence_where_node_is_too_old(tmp_path: Path) -> None:
    """As they did on a machine whose node runs no TypeScript: there the whole comparison ended."""
    (tmp_path / "node").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "node").chmod(0o755)
    done = run("bench/gpu/compare_methods.py", MODEL, "--only", "supervised", PATH=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("cannot run estimate.ts") == 1 and "| supervised | checkpointing | " in done.stdout


def test_a_part_that_has_no_time_left_is_named_and_not_begun() -> None:
    done = run("bench/gpu", "--model", MODEL, "--only", "methods", "--only", "sharded", "--minutes", "0.1")
    assert done.returncode == 1 and "failed: methods, sharded" in done.stderr
    assert done.stdout.count("not begun: the time is over") == 5


def run(program: str, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    folders = [ROOT / "runtime", ROOT / "runtime/tests", ROOT / "bench", os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders)), **settings}
    command = [sys.executable, str(ROOT / program), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
