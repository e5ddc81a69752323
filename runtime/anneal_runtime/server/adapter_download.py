"""Brings an adapter's files into the adapter folder, whole or not at all. Blocks: run it on a thread."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

from anneal_runtime.retry import RetryPolicy, Unavailable
from anneal_runtime.server.adapter_checks import CONFIG_FILE, ORIGIN_FILE, WEIGHTS_FILE
from anneal_runtime.server.errors import ApiError
from anneal_runtime.transfer import CorruptFile, RemoteFile, UrlRefused, download, verify

MAX_FILE_BYTES = 4 << 30
FETCH_RETRY = RetryPolicy(give_up_after_s=20.0)
NEEDED = (CONFIG_FILE, WEIGHTS_FILE)
# Holds the sha256 of the base weights that the adapter was trained on.
OPTIONAL = (ORIGIN_FILE,)


def prepare_folder(folder: Path) -> None:
    """Removes what a killed server had begun to download."""
    shutil.rmtree(_incoming(folder), ignore_errors=True)
    _incoming(folder).mkdir(parents=True, exist_ok=True)


def wanted_files(files: list[RemoteFile]) -> list[RemoteFile]:
    """The files that an adapter consists of. Raises ApiError if one is missing or too large."""
    promised = {file.name: file for file in files}
    if missing := [needed for needed in NEEDED if needed not in promised]:
        raise refused(f"files must include {missing[0]}.")
    wanted = [promised[file] for file in (*NEEDED, *OPTIONAL) if file in promised]
    if too_large := [file.name for file in wanted if not 0 < file.size <= MAX_FILE_BYTES]:
        raise refused(f"{too_large[0]} must have between 1 and {MAX_FILE_BYTES} bytes.")
    return wanted


def fetch(folder: Path, name: str, files: list[RemoteFile]) -> None:
    """Nothing if the folder holds these files already. Raises ApiError."""
    if _holds(folder / name, files):
        return
    incoming = _incoming(folder) / uuid.uuid4().hex
    try:
        for file in files:
            download(file, incoming / file.name, FETCH_RETRY)
        shutil.rmtree(folder / name, ignore_errors=True)
        incoming.rename(folder / name)
    except CorruptFile as error:
        raise refused(str(error)) from error
    except (UrlRefused, Unavailable, ValueError) as error:
        message = f"The adapter files could not be downloaded: {error}"
        raise ApiError(502, message, code="adapter_unreachable") from error
    finally:
        shutil.rmtree(incoming, ignore_errors=True)


def refused(message: str) -> ApiError:
    return ApiError(422, message, code="adapter_refused")


def _incoming(folder: Path) -> Path:
    return folder / ".incoming"


def _holds(folder: Path, files: list[RemoteFile]) -> bool:
    try:
        for file in files:
            verify(folder / file.name, file.size, file.sha256, file.name)
    except (OSError, CorruptFile):
        return False
    return True
