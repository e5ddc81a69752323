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
        ("compare_methods", [MODEL, "--only", "kto"], ["kto, as it is: ", "kto, checkpointing: ", "kto, packed: "]),
        (
            *("resume_methods", ["reinforcement"]),
            [f"reinforcement{base}, resumed after step 3 of 6: equal bit for bit" for base in ("", ", 4-bit base")],
        ),
        pytest.param(
            *("sharded", [MODEL], ["shared base, 2 processes: ", "the losses of 3 steps differ by "]),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_program_of_the_gpu_bench_runs_small(program: str, arguments: list[str], sentences: list[str]) -> None:
    folders = [ROOT / "runtime", ROOT / "runtime/tests", ROOT / "bench", os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    command = [sys.executable, str(ROOT / f"bench/gpu/{program}.py"), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(sentence in done.stdout for sentence in sentences), done.stdout
