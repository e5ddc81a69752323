"""Runs the checks of a script one after the other and prints a line of JSON for each."""

import contextlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

Check = Callable[[], None]

_checks: list[Check] = []
_sleep = time.sleep

BASE_MODEL = os.environ["BASE_MODEL"]
SAMPLE_FILE = os.environ["SAMPLE_FILE"]
SHORT_RUN = {"max_steps": 20, "learning_rate": 0.002}
# As the documentation and the examples of the old platform send them.
DOCUMENTED_ARGS = [
    {"max_steps": 20, "early_stopping": False, "load_best_model_at_end": False},
    {"learning_rate": 5e-5, "max_steps": 20, "early_stopping": True, "optim": "sgd"},
    {"learning_rate": "3e-5", "max_steps": 20, "save_steps": 0.5, "load_best_model_at_end": True},
    {"batch_size": 1, "index_ivf_nlist": 1, "index_method": "IndexFlatL2", "index_max_size": 1},
    {"base_model": BASE_MODEL, "max_steps": 20, "max_finetuning_examples": 5, "temperature": 0, "lora_alpha": 1},
]


def check(function: Check) -> Check:
    _checks.append(function)
    return function


def rows(count: int = 10) -> list[dict[str, str]]:
    lines = Path(SAMPLE_FILE).read_text().splitlines()
    return [json.loads(line) for line in lines[:count]]


def wait_for(job: Callable[[], dict], *statuses: str) -> dict:
    for _ in range(4200):
        state = job()
        if state["status"] in statuses:
            return state
        assert state["status"] not in ("COMPLETED", "FAILED", "CANCELLED"), state
        _sleep(0.1)
    raise AssertionError(f"not {statuses} after seven minutes")


def run() -> None:
    # The clients poll every 5 to 30 seconds; their loops are what is tested, not their patience.
    time.sleep = lambda seconds: _sleep(min(seconds, 0.2))
    for function in _checks:
        error = None
        try:
            # They print as they go.
            with contextlib.redirect_stdout(sys.stderr):
                function()
        except BaseException:  # Some clients turn a refusal into SystemExit.
            error = traceback.format_exc()
        print(json.dumps({"check": function.__name__.replace("_", " "), "error": error}), flush=True)
