"""On the path of every Python program of the fault suite."""

import os
import re
import select
import signal
import time


def _sleep(seconds: float) -> None:
    select.select([], [], [], seconds)


# libfaketime up to 0.9.10 fails every clock_nanosleep until an instant of CLOCK_MONOTONIC, which is what Python's sleep
# calls: https://github.com/wolfcw/libfaketime/issues/426
if "FAKETIME_TIMESTAMP_FILE" in os.environ:
    time.sleep = _sleep

_handle = signal.signal


def _signal(number: int, handler: object) -> object:
    """Trainers of some jobs ignore SIGTERM, whatever they ask for. Their names are known only in the forked process."""
    run = re.search(r"^(.*)/runs/ft-(\d+)-a\d+/work$", os.environ.get("ANNEAL_WORK_DIR", ""))
    is_deaf = number == signal.SIGTERM and run and os.path.exists(f"{run[1]}/deaf-{run[2]}")
    return _handle(number, signal.SIG_IGN if is_deaf else handler)


signal.signal = _signal
