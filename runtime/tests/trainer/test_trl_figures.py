"""The trainer against TRL 1.16.0: every step of small trainings by each method, through the replay of files."""

import json
import shutil
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from support.trainer_process import TINY

from anneal_runtime.trainer.replay import replay

TRL = Path(__file__).parent / "trl"
CASES = {case["case"]: case for case in map(json.loads, (TRL / "figures.jsonl").read_text().splitlines())}
# Times the value where that is above 1.
TOLERANCE = {"loss": 2e-5}
OTHER_TOLERANCE = 2e-4


@pytest.mark.parametrize("name", CASES)
def test_every_step_has_the_figures_of_trl(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    seen = {row["step"]: row for row in run(case, tmp_path)}
    for expected in case["steps"]:
        row = seen[expected["step"]]
        for figure, value in expected.items():
            tolerance = TOLERANCE.get(figure, OTHER_TOLERANCE)
            assert row[figure] == pytest.approx(value, rel=tolerance, abs=tolerance), (expected["step"], figure)


def run(case: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    spec, out, data = folder / "spec.json", folder / "steps.jsonl", TRL / case["data"]
    spec.write_text(json.dumps({"args": case["args"], "method": case["method"]}))
    is_rollouts = case["method"]["type"] == "reinforcement"
    replay(
        Namespace(
            base=_base_of(case, folder),
            spec=spec,
            rows=None if is_rollouts else data,
            rollouts=data if is_rollouts else None,
            start=TRL / "start-adapter" if case["start"] == "continued" else None,
            out=out,
            save=None,
        )
    )
    return [json.loads(line) for line in out.read_text().splitlines()]


def _base_of(case: dict[str, Any], folder: Path) -> Path:
    """Conversations were trained by a template with marks of what is learned."""
    if case["data"] != "chats.jsonl":
        return TINY
    base = shutil.copytree(TINY, folder / "base")
    shutil.copyfile(TRL / "reference_chat_template.jinja", base / "chat_template.jinja")
    return base
