"""The retry table of docs/internal-api.md, against a real HTTP server."""

import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace

import pytest

from anneal_runtime import retry
from anneal_runtime.internal_api import Fenced, InternalApi, Refused, UnsupportedRuntime
from anneal_runtime.retry import RetryPolicy, Unavailable, parse_retry_after

QUICK = RetryPolicy(first_delay_s=0.01, longest_delay_s=0.02, give_up_after_s=5.0)


class Script:
    """Answers in turn; the last one for ever."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""


@pytest.fixture
def script() -> Iterator[Script]:
    script = Script()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            script.headers.append(dict(self.headers))
            status, headers, body = script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]
            if status == 0:
                self.connection.close()
                return
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script.url = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, args=[0.05], daemon=True).start()
    yield script
    server.shutdown()
    server.server_close()


def test_every_call_carries_token_and_version(script: Script) -> None:
    script.answers = [(200, {}, b"{}")]
    InternalApi(script.url, "secret", QUICK).report_phase("TRAINING MODEL")
    assert script.headers[0]["Authorization"] == "Bearer secret"
    assert script.headers[0]["Anneal-Internal-Api"] == "1"


@pytest.mark.parametrize("status", [0, 408, 429, 500, 502, 503])
def test_waits_for_an_api_that_is_away(script: Script, status: int) -> None:
    script.answers = [(status, {}, b"")] * 3 + [(200, {}, b'{"ok": 1}')]
    assert InternalApi(script.url, "t", QUICK).call("phase", {}) == {"ok": 1}
    assert len(script.headers) == 4


def test_waits_as_long_as_it_is_told(script: Script) -> None:
    script.answers = [(503, {"Retry-After": "1"}, b""), (200, {}, b"{}")]
    started = time.monotonic()
    InternalApi(script.url, "t", QUICK).call("phase", {})
    assert time.monotonic() - started >= 1.0


def test_gives_up_in_the_end(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    script.answers = [(503, {}, b"")]
    slept: list[float] = []
    # Time that the calls themselves take would make the number of tries a matter of luck.
    monkeypatch.setattr(retry, "time", SimpleNamespace(monotonic=lambda: sum(slept), sleep=slept.append))
    policy = RetryPolicy(first_delay_s=0.01, longest_delay_s=0.02, give_up_after_s=0.1)
    with pytest.raises(Unavailable):
        InternalApi(script.url, "t", policy).call("phase", {})
    assert len(script.headers) > 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [(410, Fenced), (426, UnsupportedRuntime), (400, Refused), (401, Refused), (409, Refused), (422, Refused)],
)
def test_a_refusal_is_not_asked_again(script: Script, status: int, kind: type[Exception]) -> None:
    script.answers = [(status, {}, b'{"code": "some_code", "detail": "Because."}')]
    with pytest.raises(kind, match="Because"):
        InternalApi(script.url, "t", QUICK).call("phase", {})
    assert len(script.headers) == 1


def test_reads_both_forms_of_retry_after() -> None:
    assert parse_retry_after("7") == 7.0
    assert parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert parse_retry_after("86400") == parse_retry_after("Wed, 21 Oct 2099 07:28:00 GMT") == 60.0, "never for long"
    assert parse_retry_after("soon") is None and parse_retry_after(None) is None
