"""A program as a real process. A fork server keeps torch imported, which makes starting one cheap."""

import multiprocessing
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

# Long, for a busy machine; a run that goes on instead of ending takes longer by far.
END_TIMEOUT_S = 120.0

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    ["anneal_runtime.trainer.phases", "anneal_runtime.server.process", "transformers.models.llama.modeling_llama"]
)


@dataclass
class ForkedProgram:
    process: ForkServerProcess
    log_path: Path

    def signal(self, number: int) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def exit_code(self) -> int:
        self.process.join(END_TIMEOUT_S)
        if self.process.exitcode is None:
            self.process.kill()
            raise AssertionError(f"The program did not end:\n{self.log}")
        return self.process.exitcode

    @property
    def log(self) -> str:
        return self.log_path.read_text()


def start_program(main: Callable[[], object], environment: dict[str, str], log_path: Path) -> ForkedProgram:
    """
    Args:
        main: a function of a module; its process ends with 0 when it returns
        log_path: takes what the program writes to stdout and stderr
    """
    # Only the CPU promises equal bits, and a forked process cannot share its parent's GPU.
    environment = {"CUDA_VISIBLE_DEVICES": "", **environment}
    process = _context.Process(target=_run, args=(main, environment, str(log_path)))
    process.start()
    return ForkedProgram(process, log_path)


def _run(main: Callable[[], object], environment: dict[str, str], log_path: str) -> None:
    os.environ.update(environment)
    output = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    main()
