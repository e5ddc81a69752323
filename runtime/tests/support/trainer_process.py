"""A trainer as a real process."""

from collections.abc import Callable
from pathlib import Path

from support.forked_program import ForkedProgram, start_program

ROOT = Path(__file__).resolve().parents[3]
TINY = ROOT / "models" / "anneal-tiny"


def start_trainer(
    url: str, work_dir: Path, token: str = "attempt-token", main: Callable[[], None] | None = None, **settings: str
) -> ForkedProgram:
    """`main` may change the trainer before it calls `train`."""
    work_dir.mkdir(parents=True, exist_ok=True)
    environment = {
        "ANNEAL_INTERNAL_URL": url,
        "ANNEAL_TOKEN": token,
        "ANNEAL_MODELS_DIR": str(ROOT),
        "ANNEAL_WORK_DIR": str(work_dir),
        **settings,
    }
    return start_program(main or train, environment, work_dir / "log")


def train() -> None:
    from anneal_runtime.trainer import artifacts, assignment
    from anneal_runtime.trainer.main import main

    # Nothing is gained by waiting as long as a pod does.
    artifacts.PAUSE_S = assignment.LONGEST_PAUSE_S = 0.05
    main()
