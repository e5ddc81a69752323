"""One readable line per event on stdout: the pod's log, which users see."""

from datetime import UTC, datetime

_speaker = ""


def log(message: str) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    print(f"{now} {_speaker}{' '.join(message.split())}", flush=True)


def speak_as(name: str) -> None:
    """Several processes may share one log."""
    global _speaker
    _speaker = f"[{name}] "
