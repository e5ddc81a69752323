"""One readable line per event on stdout: the pod's log, which users see."""

import os
import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import NoReturn

_speaker = ""


def log(message: str) -> None:
    """Never raises: a full disk loses log lines, not the program that writes them."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    with suppress(OSError):
        print(f"{now} {_speaker}{' '.join(message.split())}", flush=True)


def exit_now(code: int) -> NoReturn:
    """Flushes the log if it can, then ends the process from any thread without waiting for the others."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)


def speak_as(name: str) -> None:
    """Several processes may share one log."""
    global _speaker
    _speaker = f"[{name}] "
