"""On the path of every trainer of the fault suite: makes those of some jobs ignore SIGTERM, whatever they ask for."""

import os
import re
import signal

_run = re.search(r"^(.*)/runs/ft-(\d+)-a\d+/work$", os.environ.get("ANNEAL_WORK_DIR", ""))
if _run and os.path.exists(f"{_run[1]}/deaf-{_run[2]}"):
    _handle = signal.signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal = lambda number, handler: None if number == signal.SIGTERM else _handle(number, handler)
