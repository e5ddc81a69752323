"""The hand-written part of the Python client: a connection, errors with their code, and pages. All else is generated."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from .client import AuthenticatedClient
from .types import UNSET, Response, Unset

T = TypeVar("T")
first_error = 400


class AnnealError(Exception):
    """A refusal of the service. `code` is a stable word, the message a sentence that says what to fix."""

    def __init__(self, response: Response[Any]) -> None:
        problem = parsed(response.content)
        # Routes of /openai/v1 answer errors as OpenAI does.
        nested = problem.get("error") if isinstance(problem.get("error"), dict) else {}
        super().__init__(
            problem.get("detail") or nested.get("message") or f"The service answered {response.status_code}."
        )
        self.status = int(response.status_code)
        self.code: str = problem.get("code") or nested.get("code") or "unknown"
        self.request_id: str | None = response.headers.get("x-request-id")
        self.issues: list[dict[str, str]] = problem.get("errors") or []
        retry_after = response.headers.get("retry-after")
        self.retry_after_seconds = int(retry_after) if retry_after else None


def connect(url: str, api_key: str, **options: Any) -> AuthenticatedClient:
    """Options are those of AuthenticatedClient, such as `timeout=httpx.Timeout(90)`."""
    return AuthenticatedClient(url.rstrip("/"), api_key, **options)


def result(response: Response[T]) -> T:
    """The value of an answer: `job = result(get_training_job.sync_detailed(7, client=client))`.

    Raises AnnealError when the service refuses.
    """
    if int(response.status_code) >= first_error:
        raise AnnealError(response)
    return response.parsed  # type: ignore[return-value]


def pages(ask: Callable[[Any], Response[T]]) -> Iterator[T]:
    """All pages of a list, one after the other. `ask` gets what to send as `after` (or `offset`); UNSET for the first page."""
    after: str | int | Unset = UNSET
    while True:
        response = ask(after)
        yield result(response)
        found = next_of(response)
        if found is None:
            return
        after = found


def next_of(response: Response[Any]) -> str | int | None:
    """Lists name the next page in `next`; those of /openai/v1 by their last id; the list of jobs in a Link header."""
    page = parsed(response.content)
    if "next" in page:
        return page["next"]  # type: ignore[no-any-return]
    if page.get("has_more"):
        return page.get("last_id") or page["data"][-1]["id"]  # type: ignore[no-any-return]
    link = re.search(r'<([^>]+)>;\s*rel="next"', response.headers.get("link", ""))
    return parse_qs(urlsplit(link[1]).query)["after"][0] if link else None


def parsed(content: bytes) -> dict[str, Any]:
    """An empty object for content that is no JSON object."""
    try:
        value = json.loads(content)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
