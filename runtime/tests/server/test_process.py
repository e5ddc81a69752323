"""The program itself: how it comes up, reports, and ends."""

import json
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from server.support.client import Client
from server.support.running import MINILM, REPOSITORY, TINY
from server.support.server_reports import ServerReports
from support.forked_program import start_program
from support.until import until

from anneal_runtime import exit_codes
from anneal_runtime.log import exit_now
from anneal_runtime.server.__main__ import main
from anneal_runtime.server.process import ServerProcess, bind
from anneal_runtime.settings import ServerSettings

TOKEN = "a-server-token"


def run_server() -> None:
    exit_now(main())


class Stuck(ServerProcess):
    def _begin(self) -> None:
        self._loop.run_in_executor(None, time.sleep, 600)
        self._end(exit_codes.CODE_ERROR, at_once=True)


def run_stuck_server() -> None:
    Stuck(ServerSettings.from_environment()).run()


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
        log_path: Path | None = None,
        main: Callable[[], None] = run_server,
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
            **environment,
        }
        self.process = start_program(main, settings, log_path or work_dir / "log")
        self.client = Client(self.port, TOKEN)

    def health(self) -> int | None:
        try:
            return self.client.call("GET", "/health")[0]
        except OSError:
            return None


def spec_of(base: Any) -> dict[str, Any]:
    return {key: getattr(base, key) for key in ("name", "engine", "source", "context_length", "max_batch")}


@pytest.fixture
def anneal() -> Iterator[ServerReports]:
    fake = ServerReports()
    yield fake
    fake.stop()


def test_listens_then_loads_then_reports_and_ends_on_sigterm(anneal: ServerReports, tmp_path: Path) -> None:
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
    program.process.signal(signal.SIGTERM)
    code = program.process.exit_code()
    running.join()
    assert code == exit_codes.TERMINATED
    assert answers[0][0] == 200, "what ran when the signal came is answered"
    leaving = {"path": "/internal/v1/server/leaving", "token": f"Bearer {TOKEN}", "instance": "replica-1"}
    assert anneal.reports[-1] == leaving


@pytest.mark.slow
def test_a_full_disk_under_its_log_does_not_keep_it_from_serving(anneal: ServerReports, tmp_path: Path) -> None:
    program = Program(anneal, tmp_path, spec_of(MINILM), log_path=Path("/dev/full"))
    until(lambda: len(anneal.reports) > 0)
    assert program.health() == 200
    program.process.signal(signal.SIGTERM)
    assert program.process.exit_code() == exit_codes.TERMINATED


def test_ends_at_once_when_fenced(anneal: ServerReports, tmp_path: Path) -> None:
    anneal.answers = [410]
    program = Program(anneal, tmp_path, spec_of(MINILM))
    assert program.process.exit_code() == exit_codes.FENCED, program.process.log
    assert TOKEN not in program.process.log


def test_a_stuck_thread_does_not_keep_it_alive(anneal: ServerReports, tmp_path: Path) -> None:
    program = Program(anneal, tmp_path, spec_of(TINY), main=run_stuck_server)
    assert program.process.exit_code() == exit_codes.CODE_ERROR


@pytest.mark.slow
def test_ends_when_its_reports_fail(anneal: ServerReports, tmp_path: Path) -> None:
    # Whatever it is: here what nobody has foreseen of an address.
    program = Program(anneal, tmp_path, spec_of(MINILM), ANNEAL_INTERNAL_URL="gopher://nowhere")
    assert program.process.exit_code() == exit_codes.CODE_ERROR, program.process.log
    assert "The readiness report failed" in program.process.log


def test_a_sigterm_while_loading_ends_it(anneal: ServerReports, tmp_path: Path) -> None:
    program = Program(anneal, tmp_path, spec_of(TINY))
    until(lambda: program.health() is not None)
    program.process.signal(signal.SIGTERM)
    assert program.process.exit_code() == exit_codes.TERMINATED
    assert anneal.reports == []


@pytest.mark.parametrize(
    "spec,code",
    [
        ({**spec_of(TINY), "source": {"path": "models/none"}}, exit_codes.MODEL_UNAVAILABLE),
        ({**spec_of(TINY), "engine": "other"}, exit_codes.MODEL_UNAVAILABLE),
        ({"name": "x"}, exit_codes.CODE_ERROR),
    ],
)
def test_ends_with_a_sentence_when_the_model_cannot_be_loaded(
    anneal: ServerReports, tmp_path: Path, spec: dict[str, Any], code: int
) -> None:
    program = Program(anneal, tmp_path, spec)
    assert program.process.exit_code() == code, program.process.log
    output = program.process.log
    assert "Traceback" not in output and output.strip()


def test_a_taken_port_ends_it_with_a_sentence(anneal: ServerReports, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        taken.listen()
        program = Program(anneal, tmp_path, spec_of(TINY), ANNEAL_PORT=str(taken.getsockname()[1]))
        assert program.process.exit_code() == exit_codes.CODE_ERROR
    assert "Address already in use" in program.process.log
