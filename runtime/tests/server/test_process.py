"""The program itself: how it comes up, reports, and ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from server.support.client import Client
from server.support.running import MINILM, REPOSITORY, TINY
from server.support.server_reports import ServerReports
from support.until import PATIENCE_S, until

from anneal_runtime import exit_codes
from anneal_runtime.server.process import bind

TOKEN = "a-server-token"

STUCK = """
import time
from anneal_runtime import exit_codes
from anneal_runtime.server.process import ServerProcess
from anneal_runtime.settings import ServerSettings

class Stuck(ServerProcess):
    def _begin(self):
        self._loop.run_in_executor(None, time.sleep, 600)
        self._end(exit_codes.CODE_ERROR, at_once=True)

Stuck(ServerSettings.from_environment()).run()
"""


def test_answers_do_not_wait_for_acknowledgements() -> None:
    with bind("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            # asyncio asks for the protocol before it turns Nagle's algorithm off.
            assert accepted.proto == socket.IPPROTO_TCP


class Program:
    def __init__(
        self,
        anneal: ServerReports,
        work_dir: Path,
        spec: dict[str, Any],
        log: Any = subprocess.PIPE,
        program: Sequence[str] = ("-m", "anneal_runtime.server"),
        **environment: str,
    ) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        listener.close()
        settings = {
            "ANNEAL_INTERNAL_URL": anneal.url,
            "ANNEAL_TOKEN": TOKEN,
            "ANNEAL_MODELS_DIR": str(REPOSITORY),
            "ANNEAL_WORK_DIR": str(work_dir),
            "ANNEAL_SERVER_SPEC": json.dumps(spec),
            "ANNEAL_PORT": str(self.port),
            "ANNEAL_INSTANCE": "replica-1",
            "PYTHONPATH": str(REPOSITORY / "runtime"),
            **environment,
        }
        self.process = subprocess.Popen(
            [sys.executable, *program],
            env={**os.environ, **settings},
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.client = Client(self.port, TOKEN)

    def health(self) -> int | None:
        try:
            return self.client.call("GET", "/health")[0]
        except OSError:
            return None

    def wait(self) -> tuple[int, str]:
        output, _ = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, output


def spec_of(base: Any) -> dict[str, Any]:
    return {key: getattr(base, key) for key in ("name", "engine", "source", "context_length", "max_batch")}


@pytest.fixture
def anneal() -> Iterator[ServerReports]:
    fake = ServerReports()
    yield fake
    fake.stop()


def test_it_listens_then_loads_then_reports_and_ends_on_sigterm(anneal: ServerReports, tmp_path: Path) -> None:
    anneal.answers = [500, 200]
    program = Program(anneal, tmp_path, spec_of(TINY))
    until(lambda: program.health() is not None)
    assert program.health() == 503
    assert program.client.post("/v1/completions", {"model": "anneal-tiny", "prompt": "a"})[0] == 503
    until(lambda: len(anneal.reports) >= 2)
    assert program.health() == 200
    assert anneal.reports[1] == {
        "path": "/internal/v1/server/ready",
        "token": f"Bearer {TOKEN}",
        "endpoint": f"http://127.0.0.1:{program.port}",
        "engine": "transformers",
        "version": "0.1.0",
        "instance": "replica-1",
    }
    answers: list[Any] = []
    # So few tokens that a busy machine is done within the server's grace.
    body = {"model": "anneal-tiny", "prompt": "a", "max_tokens": 16, "structured_outputs": {"regex": "[a-z ]{100}"}}
    running = threading.Thread(target=lambda: answers.append(program.client.post("/v1/completions", body)))
    running.start()
    until(lambda: program.client.metric("anneal_model_server_running_rows") > 0)
    program.process.send_signal(signal.SIGTERM)
    code, _ = program.wait()
    running.join()
    assert code == exit_codes.TERMINATED
    assert answers[0][0] == 200, "what ran when the signal came is answered"
    leaving = {"path": "/internal/v1/server/leaving", "token": f"Bearer {TOKEN}", "instance": "replica-1"}
    assert anneal.reports[-1] == leaving


@pytest.mark.slow
def test_a_full_disk_under_its_log_does_not_keep_it_from_serving(anneal: ServerReports, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        program = Program(anneal, tmp_path, spec_of(MINILM), log=full)
    until(lambda: len(anneal.reports) > 0)
    assert program.health() == 200
    program.process.send_signal(signal.SIGTERM)
    assert program.wait()[0] == exit_codes.TERMINATED


def test_it_ends_at_once_when_it_is_fenced(anneal: ServerReports, tmp_path: Path) -> None:
    anneal.answers = [410]
    code, output = Program(anneal, tmp_path, spec_of(MINILM)).wait()
    assert code == exit_codes.FENCED, output
    assert TOKEN not in output


def test_a_stuck_thread_does_not_keep_it_alive(anneal: ServerReports, tmp_path: Path) -> None:
    program = Program(anneal, tmp_path, spec_of(TINY), program=["-c", STUCK])
    assert program.wait()[0] == exit_codes.CODE_ERROR


@pytest.mark.slow
def test_it_ends_when_its_reports_do(anneal: ServerReports, tmp_path: Path) -> None:
    # Whatever it is: here what nobody has foreseen of an address.
    program = Program(anneal, tmp_path, spec_of(MINILM), ANNEAL_INTERNAL_URL="gopher://nowhere")
    code, output = program.wait()
    assert code == exit_codes.CODE_ERROR, output
    assert "The readiness report failed" in output


def test_a_sigterm_while_loading_ends_it(anneal: ServerReports, tmp_path: Path) -> None:
    program = Program(anneal, tmp_path, spec_of(TINY))
    until(lambda: program.health() is not None)
    program.process.send_signal(signal.SIGTERM)
    assert program.wait()[0] == exit_codes.TERMINATED
    assert anneal.reports == []


@pytest.mark.parametrize(
    "spec,code",
    [
        ({**spec_of(TINY), "source": {"path": "models/none"}}, exit_codes.MODEL_UNAVAILABLE),
        ({**spec_of(TINY), "engine": "other"}, exit_codes.MODEL_UNAVAILABLE),
        ({"name": "x"}, exit_codes.CODE_ERROR),
    ],
)
def test_what_cannot_be_loaded_ends_it_with_a_sentence(
    anneal: ServerReports, tmp_path: Path, spec: dict[str, Any], code: int
) -> None:
    actual, output = Program(anneal, tmp_path, spec).wait()
    assert actual == code, output
    assert "Traceback" not in output and output.strip()


def test_a_taken_port_ends_it_with_a_sentence(anneal: ServerReports, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        taken.listen()
        code, output = Program(anneal, tmp_path, spec_of(TINY), ANNEAL_PORT=str(taken.getsockname()[1])).wait()
    assert code == exit_codes.CODE_ERROR and "Address already in use" in output
