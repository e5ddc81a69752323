"""Checkpoints and the model on their way to storage: bytes first, then the commit that makes them count."""

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from anneal_runtime import exit_codes
from anneal_runtime.internal_api import Fenced, InternalApi, Refused
from anneal_runtime.log import exit_now, log
from anneal_runtime.retry import DAY_S, Unavailable
from anneal_runtime.transfer import UrlRefused, sha256_of, upload

INCOMPLETE_TRIES = 3
PAUSE_S = 5.0


class StorageRefused(Exception):
    """Every upload succeeded, yet the service found a file missing or incomplete each time."""


def publish(api: InternalApi, kind: str, step: int, folder: Path, before_commit: Callable[[], object]) -> None:
    """Uploads every file of the folder and commits them. A committed artifact may be committed again, harmlessly."""

    def commit(granted: dict[str, Any]) -> None:
        before_commit()
        api.commit_artifact(granted["artifact_id"])

    send(f"{kind} of step {step}", folder, lambda files: api.request_artifact(kind, step, files), commit)


Request = Callable[[list[dict[str, Any]]], dict[str, Any]]


def send(what: str, folder: Path, request: Request, commit: Callable[[dict[str, Any]], None]) -> None:
    """Asks where to upload the files of the folder, uploads them and commits; repeats what the store has lost."""
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    files = [{"name": path.name, "size": path.stat().st_size, "sha256": sha256_of(path)} for path in paths]
    give_up_at, incomplete = time.monotonic() + DAY_S, 0
    while True:
        try:
            granted = request(files)
            for place in granted["uploads"]:
                upload(place, folder / place["name"])
            commit(granted)
            return
        except Refused as error:
            # not_found: retention has deleted an upload that stayed uncommitted for too long.
            if error.code not in ("artifact_incomplete", "not_found"):
                raise
            incomplete += 1
            if incomplete == INCOMPLETE_TRIES:
                raise StorageRefused(f"The {what} was incomplete after three uploads: {error.detail}") from error
        except (UrlRefused, Unavailable) as error:
            # Most likely a URL older than its 15 minutes.
            if time.monotonic() > give_up_at:
                raise
            log(str(error))
        time.sleep(PAUSE_S)
        log(f"Uploading the {what} again")


class CheckpointUploader:
    """Uploads checkpoints in the background, one at a time; a newer one replaces one that waits."""

    def __init__(self, api: InternalApi, before_commit: Callable[[], object]) -> None:
        self._api, self._before_commit = api, before_commit
        self._changed = threading.Condition()
        self._waiting: tuple[int, Path] | None = None
        self._busy = False
        self._failure: Exception | None = None
        threading.Thread(target=self._upload_forever, name="checkpoints", daemon=True).start()

    def submit(self, step: int, folder: Path) -> None:
        with self._changed:
            replaced, self._waiting = self._waiting, (step, folder)
            self._changed.notify_all()
        if replaced is not None:
            shutil.rmtree(replaced[1], ignore_errors=True)

    def finish(self, timeout_s: float) -> bool:
        """Waits until every upload is done; False on timeout. Raises the API's refusal."""
        with self._changed:
            finished = self._changed.wait_for(
                lambda: self._failure is not None or (self._waiting is None and not self._busy), timeout_s
            )
        self.raise_failure()
        return finished

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _upload_forever(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting is not None)
                assert self._waiting is not None
                (step, folder), self._waiting, self._busy = self._waiting, None, True
            self._upload(step, folder)
            shutil.rmtree(folder, ignore_errors=True)
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def _upload(self, step: int, folder: Path) -> None:
        try:
            publish(self._api, "checkpoint", step, folder, self._before_commit)
            log(f"Checkpoint of step {step} saved")
        except Fenced as error:
            log(f"Fenced: {error}")
            exit_now(exit_codes.FENCED)
        except StorageRefused as error:
            # A lost checkpoint costs time after an interruption; ending the run here would cost more.
            log(str(error))
        except Exception as error:  # handed to the main thread, which ends the run with it
            self._failure = error
