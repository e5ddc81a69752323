"""Imports once what trainers and model servers import for seconds, then starts each of them as a fork of itself.

usage: python prepared.py MODULE[,MODULE...]

Writes "ready". Each line of JSON on stdin then asks for a run: {"id", "arguments", "environment"}. The arguments are
those of watch_run.py, with a module as the program. A line on stdout answers: the id, a space, and "started", "taken"
or what went wrong.
Ends with its stdin: the worker that started it is gone. What it started goes on.
"""

import ctypes
import gc
import importlib
import json
import os
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # PYTHONSAFEPATH leaves it out
import watch_run

PR_SET_NAME = 15


def main() -> None:
    for module in sys.argv[1].split(","):
        importlib.import_module(module)
    # Only the thread that forks goes on in the fork: a lock that another thread holds would never be released.
    if len(os.listdir("/proc/self/task")) > 1:
        sys.exit("An imported module has started a thread.")
    gc.collect()
    gc.freeze()  # a collection in a fork would copy all of these pages
    say("ready")
    pending = b""
    while received := os.read(0, 65536):
        *lines, pending = (pending + received).split(b"\n")
        for line in lines:
            start_run(json.loads(line))


def start_run(request: dict[str, Any]) -> None:
    if child := os.fork():
        os.waitpid(child, 0)  # it only starts the watcher, which is nobody's child
        return
    try:
        watched = watch_run.launch(
            request["arguments"],
            lambda program: become_module(program[0], request["environment"]),
            lambda outcome: watch_run.report(f"{request['id']} {outcome}\n"),
        )
        if watched is not None:
            # Without the imports: the watcher lives as long as the run.
            os.execv(sys.executable, [sys.executable, "-I", "-S", watch_run.__file__, "--watch", *watched])
    except BaseException as error:
        say(f"{request['id']} {type(error).__name__}: {error}".replace("\n", " "))
    finally:
        os._exit(1)


def become_module(module: str, environment: dict[str, str]) -> None:
    """Runs the module as `python -m` would, and ends the process."""
    code = 1
    try:
        os.environ.update(environment)
        tempfile.tempdir = None
        name = f"anneal {module.rpartition('.')[2]}"
        ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode())
        sys.argv = [module]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    os._exit(code)


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    main()
