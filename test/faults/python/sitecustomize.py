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

# Trainers of some jobs ignore SIGTERM, whatever they ask for.
_run = re.search(r"^(.*)/runs/ft-(\d+)-a\d+/work$", os.environ.get("ANNEAL_WORK_DIR", ""))
if _run and os.path.exists(f"{_run[1]}/deaf-{_run[2]}"):
    _handle = signal.signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal = lambda number, handler: None if number == signal.SIGTERM else _handle(number, handler)
