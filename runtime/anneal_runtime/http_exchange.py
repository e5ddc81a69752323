"""One HTTP exchange over the standard library, straight to the host: pods talk to addresses they were given."""

import http.client
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from anneal_runtime.retry import Unavailable, parse_retry_after

NO_ANSWER = (OSError, http.client.HTTPException)


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes


def connect(url: str, timeout_s: float) -> tuple[http.client.HTTPConnection, str]:
    """An unopened connection to the URL's host, and the request target."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or parts.hostname is None:
        raise ValueError(f"not an http address: {parts.scheme}://{parts.netloc}")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return kind(parts.hostname, parts.port, timeout=timeout_s), target


def exchange(
    method: str, url: str, *, body: bytes | Iterable[bytes] | None, headers: dict[str, str], timeout_s: float
) -> Answer:
    """Raises Unavailable for no answer and for the statuses that mean "later"; returns every other answer."""
    connection, target = connect(url, timeout_s)
    host = f"{method} {urlsplit(url).netloc}{urlsplit(url).path}"
    try:
        connection.request(method, target, body=body, headers=headers)
        response = connection.getresponse()
        answer = Answer(response.status, response.read())
        refuse_for_now(host, answer.status, response.getheader("Retry-After"))
        return answer
    except NO_ANSWER as error:
        raise Unavailable(f"{host}: no answer ({error.__class__.__name__}: {error})") from error
    finally:
        connection.close()


def refuse_for_now(what: str, status: int, retry_after: str | None) -> None:
    if means_later(status):
        raise Unavailable(f"{what}: answered {status}", parse_retry_after(retry_after))


def means_later(status: int) -> bool:
    return status in (408, 429) or status >= 500
