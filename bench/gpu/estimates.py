"""The memory that a dry run foretells, by the code of the service. It needs the node of this repository: where that is
missing, `node bench/gpu/estimate.ts < FILE` reads the rows that compare_methods.py has written to FILE, later.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("estimate.ts")
_said: list[str] = []


def beside(asked: dict[str, Any]) -> float | None:
    """In GiB; None where it cannot be computed here."""
    node = shutil.which("node")
    if node is None:
        _say("node is not installed")
        return None
    found = subprocess.run(
        [node, SCRIPT], input=f"{json.dumps({'asked': asked})}\n", capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        _say(f"{node} cannot run {SCRIPT.name}")
        return None
    return float(json.loads(found.stdout)["estimated"])


def _say(why: str) -> None:
    """Once."""
    if not _said:
        print(f"No estimates: {why}.")
        _said.append(why)
