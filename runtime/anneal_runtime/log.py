"""One readable line per event on stdout: the pod's log, which users see."""

from datetime import UTC, datetime


def log(message: str) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    print(f"{now} {' '.join(message.split())}", flush=True)
