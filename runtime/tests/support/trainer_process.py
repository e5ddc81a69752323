"""A trainer as a real process. A fork server keeps torch imported, which makes starting one cheap."""

import multiprocessing
import os
import sys
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TINY = ROOT / "models" / "anneal-tiny"

# Long, for a busy machine; a run that goes on instead of ending takes longer by far.
END_TIMEOUT_S = 120.0

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["anneal_runtime.trainer.phases", "transformers.models.llama.modeling_llama"])


@dataclass
class TrainerProcess:
    process: ForkServerProcess
    log_path: Path

    def signal(self, number: int) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def exit_code(self) -> int:
        self.process.join(END_TIMEOUT_S)
        if self.process.exitcode is None:
            self.process.kill()
            raise AssertionError(f"The trainer did not end:\n{self.log}")
        return self.process.exitcode

    @property
    def log(self) -> str:
        return self.log_path.read_text()


def start_trainer(url: str, work_dir: Path, token: str = "attempt-token", **settings: str) -> TrainerProcess:
    work_dir.mkdir(parents=True, exist_ok=True)
    environment = {
        "ANNEAL_INTERNAL_URL": url,
        "ANNEAL_TOKEN": token,
        "ANNEAL_MODELS_DIR": str(ROOT),
        "ANNEAL_WORK_DIR": str(work_dir),
        # Only the CPU promises equal bits, and a forked process cannot share its parent's GPU.
        "CUDA_VISIBLE_DEVICES": "",
        **settings,
    }
    log_path = work_dir / "log"
    process = _context.Process(target=_run, args=(environment, str(log_path)))
    process.start()
    return TrainerProcess(process, log_path)


def _run(environment: dict[str, str], log_path: str) -> None:
    os.environ.update(environment)
    output = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    from anneal_runtime.trainer import artifacts, assignment
    from anneal_runtime.trainer.main import main

    # Nothing is gained by waiting as long as a pod does.
    artifacts.PAUSE_S = assignment.LONGEST_PAUSE_S = 0.05
    main()
