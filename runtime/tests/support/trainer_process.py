"""A trainer as a real process."""

from pathlib import Path

from support.forked_program import ForkedProgram, start_program

ROOT = Path(__file__).resolve().parents[3]
TINY = ROOT / "models" / "anneal-tiny"


def start_trainer(url: str, work_dir: Path, token: str = "attempt-token", **settings: str) -> ForkedProgram:
    work_dir.mkdir(parents=True, exist_ok=True)
    environment = {
        "ANNEAL_INTERNAL_URL": url,
        "ANNEAL_TOKEN": token,
        "ANNEAL_MODELS_DIR": str(ROOT),
        "ANNEAL_WORK_DIR": str(work_dir),
        **settings,
    }
    return start_program(_train, environment, work_dir / "log")


def _train() -> None:
    from anneal_runtime.trainer import artifacts, assignment
    from anneal_runtime.trainer.main import main

    # Nothing is gained by waiting as long as a pod does.
    artifacts.PAUSE_S = assignment.LONGEST_PAUSE_S = 0.05
    main()
