"""lamini 3.2: every status that the service refuses with, by real requests, and the exception that comes of each."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator

import aiohttp
import lamini
import requests
from checks import BASE_MODEL, check, run
from lamini.api.rest_requests import make_async_web_request, make_web_request
from lamini.error.error import (
    APIError,
    APIUnprocessableContentError,
    AuthenticationError,
    ModelNotFoundError,
    RateLimitError,
    UnavailableResourceError,
    UserError,
)

URL = lamini.api_url
# Other processes of the service: one grants a single request, one has lost its object store, one has a bug.
LIMITED_URL, CUT_OFF_URL, BROKEN_URL = (os.environ[name] for name in ("LIMITED_URL", "CUT_OFF_URL", "BROKEN_URL"))
LIMITED_KEY = os.environ["LIMITED_KEY"]
PROMPT = {"model_name": BASE_MODEL, "prompt": "Who?", "max_tokens": 2}


@contextlib.contextmanager
def with_header(name: str, value: str) -> Iterator[None]:
    """The SDK has no parameter for headers; `requests` gets one more."""
    post = requests.post
    requests.post = lambda **options: post(**{**options, "headers": {**options["headers"], name: value}})
    try:
        yield
    finally:
        requests.post = post


def raised(call: Callable[[], object]) -> Exception:
    try:
        answer = call()
    except Exception as error:
        return error
    raise AssertionError(f"answered {answer}")


def sync_call(url: str, body: dict | None, key: str, header: tuple[str, str] | None) -> object:
    with with_header(*header) if header else contextlib.nullcontext():
        return make_web_request(key, url, "get" if body is None else "post", body)


def async_call(url: str, body: dict | None, key: str, header: tuple[str, str] | None) -> object:
    async def call() -> object:
        async with aiohttp.ClientSession(headers=dict([header]) if header else None) as client:
            return await make_async_web_request(client, key, url, "get" if body is None else "post", body)

    return asyncio.run(call())


def refuses(
    path: str,
    body: dict | None,
    kind: type[Exception],
    word: str,
    *,
    url: str = URL,
    key: str | None = None,
    header: tuple[str, str] | None = None,
    async_kind: type[Exception] | None = None,
    async_word: str | None = None,
) -> None:
    key = lamini.api_key if key is None else key
    error = raised(lambda: sync_call(url + path, body, key, header))
    assert type(error) is kind and word in str(error), repr(error)
    error = raised(lambda: async_call(url + path, body, key, header))
    assert type(error) is (async_kind or kind) and (async_word or word) in str(error), repr(error)


@check
def status_400_is_a_user_error_with_the_detail() -> None:
    refuses("/v1/completions", {**PROMPT, "prompt": 7}, UserError, "prompt must be a string or a list of strings.")
    refuses("/v1/completions", {**PROMPT, "output_type": {"a": "date"}}, UserError, "str, int, float or bool")


@check
def status_401_is_an_authentication_error_with_the_detail() -> None:
    refuses("/v1/completions", PROMPT, AuthenticationError, "invalid token", key="wrong")


@check
def status_404_is_an_api_error_with_the_detail() -> None:
    refuses("/v1/train/jobs/2147483647", None, APIError, "There is no training job 2147483647.")
    refuses("/v1/existing-data", {"dataset_id": "no-such-set"}, APIError, "There is no such data set.")


@check
def status_409_is_an_api_error_with_the_detail() -> None:
    rows = [{"input": "a", "output": "b"}]
    body = {"model_name": BASE_MODEL, "data": rows, "finetune_args": {"max_steps": 100_000}}
    job_id = make_web_request(lamini.api_key, f"{URL}/v1/train", "post", body)["job_id"]
    try:
        refuses(f"/v1/train/jobs/{job_id}/resume", {}, APIError, "conflict")
        refuses(f"/v1/train/jobs/{job_id}/eval", None, APIError, "has no evaluation results yet")
    finally:
        make_web_request(lamini.api_key, f"{URL}/v1/train/jobs/{job_id}/cancel", "post", {})


@check
def status_413_is_an_api_error_with_the_detail() -> None:
    refuses("/v1/data", {"dataset_id": "a" * 2_000_000}, APIError, "larger than the 1 MB")


@check
def status_422_is_a_user_error_and_unprocessable_content_to_the_asynchronous_client() -> None:
    header = ("Idempotency-Key", "used-once")
    first = sync_call(f"{URL}/v1/data", {"dataset_id": "one"}, lamini.api_key, header)
    assert sync_call(f"{URL}/v1/data", {"dataset_id": "one"}, lamini.api_key, header)["dataset_id"] == "one", first
    refuses(
        "/v1/data",
        {"dataset_id": "two"},
        UserError,
        "This Idempotency-Key was used with another request body.",
        header=header,
        async_kind=APIUnprocessableContentError,
        async_word="422",
    )


@check
def status_429_is_a_rate_limit_error_with_the_detail() -> None:
    sync_call(f"{LIMITED_URL}/v1/models", None, LIMITED_KEY, None)
    refuses("/v1/models", None, RateLimitError, "This key has made more than", url=LIMITED_URL, key=LIMITED_KEY)


@check
def status_500_is_an_api_error_that_shows_nothing_of_the_bug() -> None:
    refuses("/v1/models", None, APIError, "An internal error occurred", url=BROKEN_URL)
    assert "secret table" not in str(raised(lambda: sync_call(f"{BROKEN_URL}/v1/models", None, lamini.api_key, None)))


@check
def status_503_is_an_unavailable_resource_error_with_the_detail() -> None:
    body = {"model_name": "tiny", "dataset_id": "one"}
    refuses("/v1/train", body, UnavailableResourceError, "cannot reach its database or object store", url=CUT_OFF_URL)


@check
def status_594_is_a_model_not_found_error_with_the_detail() -> None:
    for path, more in (
        ("/v1/completions", {"prompt": "x"}),
        ("/v1/embedding", {"prompt": "x"}),
        ("/v1/train", {"data": [{"input": "a", "output": "b"}]}),
        ("/v1/batch_completions", {"prompt": ["x"]}),
        ("/v1/reservation", {"capacity": 1}),
    ):
        refuses(path, {"model_name": "no-such", **more}, ModelNotFoundError, '"no-such"')


run()
