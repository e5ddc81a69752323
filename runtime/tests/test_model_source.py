"""A base model that the hub does not give: a hub that is away is asked again, one that says no is believed."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from support.until import PATIENCE_S

COMMIT = "a" * 40
WEIGHTS = b"weights"
FETCH = """
import sys
from anneal_runtime.model_source import ModelUnavailable, _from_hub
from anneal_runtime.retry import RetryPolicy
try:
    print(_from_hub("there/model", None, RetryPolicy(first_delay_s=0.01, give_up_after_s=float(sys.argv[1]))))
except ModelUnavailable as error:
    sys.exit(f"unavailable: {error}")
"""


class Hub:
    def __init__(self) -> None:
        self.asked = 0
        # Statuses of the next answers; then it gives the model.
        self.refuse: list[int] = []


@contextmanager
def hub() -> Iterator[tuple[Hub, str]]:
    state = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(True)

        def do_HEAD(self) -> None:
            self._answer(False)

        def _answer(self, has_body: bool) -> None:
            state.asked += 1
            status, body = (state.refuse.pop(0), b"no") if state.refuse else (200, self._content())
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", '"weights"')
            self.end_headers()
            if has_body:
                self.wfile.write(body)

        def _content(self) -> bytes:
            path = self.path.partition("?")[0]
            if "/resolve/" in path:
                return WEIGHTS
            if "/tree/" in path:
                return json.dumps(
                    [{"type": "file", "path": "model.safetensors", "size": len(WEIGHTS), "oid": "1" * 40}]
                ).encode()
            return json.dumps(
                {"id": "there/model", "sha": COMMIT, "siblings": [{"rfilename": "model.safetensors"}]}
            ).encode()

        def log_message(self, *_args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=[0.05], daemon=True).start()
    try:
        yield state, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def fetch(endpoint: str, cache: Path, give_up_after_s: float) -> "subprocess.CompletedProcess[str]":
    # The hub's client reads its address when it is imported.
    environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(cache), "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-c", FETCH, str(give_up_after_s)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)


@pytest.mark.parametrize("status", [503, 429])
def test_a_hub_that_is_away_is_asked_again(tmp_path: Path, status: int) -> None:
    with hub() as (state, endpoint):
        state.refuse = [status] * 2
        fetched = fetch(endpoint, tmp_path, 60)
    assert fetched.returncode == 0, fetched.stderr
    assert (Path(fetched.stdout.splitlines()[-1]) / "model.safetensors").read_bytes() == WEIGHTS


@pytest.mark.parametrize("status", [401, 404])
def test_a_refusal_of_the_hub_is_not_tried_again(tmp_path: Path, status: int) -> None:
    with hub() as (state, endpoint):
        state.refuse = [status] * 100
        fetched = fetch(endpoint, tmp_path, 60)
    assert fetched.stderr.splitlines()[-1].startswith("unavailable: there/model cannot be fetched from the hub")
    assert "trying again" not in fetched.stdout + fetched.stderr


def test_a_hub_that_stays_away_ends_in_a_sentence(tmp_path: Path) -> None:
    fetched = fetch("http://127.0.0.1:9", tmp_path, 0)
    assert fetched.stderr.splitlines()[-1].startswith("unavailable: there/model cannot be fetched from the hub")
