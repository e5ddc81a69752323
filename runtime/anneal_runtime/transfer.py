"""Files by presigned URL: a download counts once its size and sha256 match, an upload sends a known length."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from anneal_runtime.http_exchange import NO_ANSWER, connect, exchange, refuse_for_now
from anneal_runtime.log import log
from anneal_runtime.retry import RetryPolicy, Unavailable, call_with_retries

TIMEOUT_S = 60.0
CHUNK_BYTES = 1 << 20
# A URL lives 15 minutes: waiting longer for its host is pointless, the caller asks for fresh ones instead.
WITHIN_URL_LIFE = RetryPolicy(give_up_after_s=600.0)
CORRUPT_TRIES = 3


class UrlRefused(Exception):
    """The store refused the URL (mostly: expired). A fresh one may work."""


class CorruptFile(Exception):
    """The bytes are not those that were promised."""


@dataclass(frozen=True)
class RemoteFile:
    url: str
    size: int
    sha256: str
    name: str = "file"

    @classmethod
    def from_json(cls, raw: dict[str, Any], name: str | None = None) -> "RemoteFile":
        return cls(url=raw["url"], size=raw["size"], sha256=raw["sha256"], name=name or raw["name"])


def download(file: RemoteFile, target: Path, retry: RetryPolicy = WITHIN_URL_LIFE) -> Path:
    """Writes the verified file to `target` by rename. Raises UrlRefused, CorruptFile or Unavailable."""
    part = target.with_name(target.name + ".part")
    for last_try in [False] * (CORRUPT_TRIES - 1) + [True]:
        call_with_retries(lambda: _fetch(file, part), retry, on_wait=log)
        try:
            verify(part, file.size, file.sha256, file.name)
        except CorruptFile as error:
            part.unlink(missing_ok=True)
            if last_try:
                raise
            log(f"{error} Downloading it again.")
        else:
            return part.rename(target)
    raise AssertionError("unreachable")


def upload(place: dict[str, Any], source: Path, retry: RetryPolicy = WITHIN_URL_LIFE) -> None:
    """PUTs the file to `url`, or its parts of `part_size` bytes to `urls`. Raises UrlRefused or Unavailable."""
    size = source.stat().st_size
    part_size = place.get("part_size", size)
    for index, url in enumerate(place.get("urls") or [place["url"]]):
        start = index * part_size
        part = _Part(source, start, min(part_size, size - start))
        call_with_retries(partial(_put, url, part), retry, on_wait=log)


@dataclass(frozen=True)
class _Part:
    source: Path
    start: int
    length: int

    def chunks(self) -> Iterator[bytes]:
        left = self.length
        with self.source.open("rb") as handle:
            handle.seek(self.start)
            while left > 0 and (chunk := handle.read(min(CHUNK_BYTES, left))):
                yield chunk
                left -= len(chunk)


def _put(url: str, part: _Part) -> None:
    # A length that is set keeps http.client from chunking, which presigned URLs do not allow.
    headers = {"Content-Length": str(part.length)}
    answer = exchange("PUT", url, body=part.chunks(), headers=headers, timeout_s=TIMEOUT_S)
    if answer.status >= 300:
        raise UrlRefused(f"The store refused the upload of {part.source.name} with {answer.status}.")


def verify(path: Path, size: int, sha256: str, name: str) -> None:
    if path.stat().st_size != size:
        raise CorruptFile(f"{name} has {path.stat().st_size} bytes; {size} were expected.")
    if sha256_of(path) != sha256:
        raise CorruptFile(f"{name} does not have the expected sha256.")


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    for chunk in _chunks(path):
        digest.update(chunk)
    return digest.hexdigest()


def _fetch(file: RemoteFile, part: Path) -> None:
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as out:
            for chunk in _body(file):
                out.write(chunk)
    except OSError as error:
        raise Unavailable(f"{file.name} cannot be written: {error}") from error


def _body(file: RemoteFile) -> Iterator[bytes]:
    connection, target = connect(file.url, TIMEOUT_S)
    try:
        connection.request("GET", target)
        response = connection.getresponse()
        refuse_for_now(f"GET {file.name}", response.status, response.getheader("Retry-After"))
        if response.status != 200:
            raise UrlRefused(f"The store refused the download of {file.name} with {response.status}.")
        # One byte past the promised size proves a wrong length without filling the disk.
        left = file.size + 1
        while left > 0 and (chunk := response.read(min(CHUNK_BYTES, left))):
            yield chunk
            left -= len(chunk)
        if left > 1 and response.length:
            raise Unavailable(f"GET {file.name}: the connection ended early")
    except NO_ANSWER as error:
        raise Unavailable(f"GET {file.name}: {error.__class__.__name__}: {error}") from error
    finally:
        connection.close()


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as handle:
        while chunk := handle.read(CHUNK_BYTES):
            yield chunk
