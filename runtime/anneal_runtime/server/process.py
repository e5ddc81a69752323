"""The life of the server's process: socket, loading, readiness, and the exit code that says why it ended."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
import traceback
from contextlib import suppress
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette

from anneal_runtime import __version__, exit_codes
from anneal_runtime.gc_freeze import frozen_after
from anneal_runtime.internal_api import Fenced, InternalApi, Refused
from anneal_runtime.log import exit_now, log
from anneal_runtime.model_source import ModelUnavailable, is_out_of_memory
from anneal_runtime.retry import RetryPolicy, Unavailable
from anneal_runtime.server.account_turns import AccountThreads
from anneal_runtime.server.app import create_app
from anneal_runtime.server.decoding.rows import SamplingParams
from anneal_runtime.server.engine_requests import encode, generate
from anneal_runtime.server.metrics import EngineMetrics
from anneal_runtime.server.serving import COMPILING_THREADS, Serving
from anneal_runtime.server.watchdog import wait_until_hung
from anneal_runtime.settings import ServerSettings

if TYPE_CHECKING:
    from anneal_runtime.server.engine import Engine

GRACE_S = 10
# asyncio and the interpreter join `to_thread` threads without a limit, so a stuck one needs this limit of ours.
STUCK_S = 5.0
AT_ONCE_S = 1.0
# Longer than any client keeps an idle connection, so that the client closes it and never sends into a closed one.
KEEP_ALIVE_S = 75
REPORT_EVERY_S = 30.0
REPORT_RETRY = RetryPolicy(give_up_after_s=20.0)
FIRST_GENERATION = SamplingParams(max_tokens=4, temperature=0.0, top_p=1.0, seed=None, stop=())


class ReportingServer:
    """Sockets, signals and reports, for any engine. `_begin` starts to load, `_open` lets callers in."""

    def __init__(self, settings: ServerSettings, app: Starlette, metrics: EngineMetrics) -> None:
        self._settings, self._app, self._metrics = settings, app, metrics
        self._started_at = monotonic()
        self._api = InternalApi(settings.internal_url, settings.token, REPORT_RETRY)
        self._exit_code: int | None = None
        self._leaving: threading.Thread | None = None
        self._socket = bind(settings.bind_host, settings.port)
        config = uvicorn.Config(
            self._app,
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=GRACE_S,
        )
        self._uvicorn = uvicorn.Server(config)

    def run(self) -> int:
        """Serves until told to end. The exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        asyncio.run(self._serve())
        if self._leaving is not None:
            self._leaving.join()
        return exit_codes.TERMINATED if self._exit_code is None else self._exit_code

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._begin()
        await self._uvicorn.serve(sockets=[self._socket])

    def _begin(self) -> None:
        raise NotImplementedError

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """uvicorn ends gracefully on its own and then raises the signal again, which lands here."""
        self._uvicorn.should_exit = True
        if self._leaving is None and self._app.state.serving is not None:
            self._leaving = threading.Thread(target=self._api.report_leaving, args=(self._settings.instance,))
            self._leaving.start()

    def _end(self, code: int, *, at_once: bool = False) -> None:
        if self._exit_code is None:
            self._exit_code = code
        self._uvicorn.force_exit = self._uvicorn.force_exit or at_once
        self._uvicorn.should_exit = True
        limit_s = AT_ONCE_S if at_once else GRACE_S + STUCK_S
        threading.Thread(target=self._exit_after, args=(self._exit_code, limit_s), name="end", daemon=True).start()

    def _fail(self, what: str, error: Exception, code: int) -> None:
        log(f"{what}: " + "".join(traceback.format_exception(error)))
        self._end(code)

    def _exit_after(self, code: int, limit_s: float) -> None:
        time.sleep(limit_s)
        if self._leaving is not None:
            self._leaving.join(STUCK_S)
        exit_now(code)

    def _open(self, serving: object) -> None:
        """On the event loop, after one real answer."""
        if self._uvicorn.should_exit:
            return  # The signal came while the model was loading. The socket is closed.
        self._app.state.serving = serving
        ready_s = monotonic() - self._started_at
        self._metrics.ready_s.set(ready_s)
        log(f"{self._settings.spec.name} is ready at {self._endpoint()} after {ready_s:.1f} s.")
        threading.Thread(target=self._report_ready, name="readiness", daemon=True).start()

    def _report_ready(self) -> None:
        """Ends the server when its reports end: without them no request comes, and nothing would restart it."""
        try:
            self._report_until_leaving()
        except Fenced as error:
            log(f"Fenced: {error}")
            self._end(exit_codes.FENCED, at_once=True)
        except Refused as error:
            log(f"The readiness report was refused: {error}")
            self._end(exit_codes.CODE_ERROR)
        except Exception as error:
            self._fail("The readiness report failed", error, exit_codes.CODE_ERROR)

    def _report_until_leaving(self) -> None:
        """Reports every 30 s while the server lives: the service may have lost an earlier report."""
        spec, instance = self._settings.spec, self._settings.instance
        while self._leaving is None:
            with suppress(Unavailable):
                self._api.report_ready(self._endpoint(), engine=spec.engine, version=__version__, instance=instance)
                time.sleep(REPORT_EVERY_S)

    def _endpoint(self) -> str:
        host, port = self._settings.advertise_host, self._socket.getsockname()[1]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class ServerProcess(ReportingServer):
    """With our own engine, on a thread of its own."""

    def __init__(self, settings: ServerSettings) -> None:
        metrics = EngineMetrics()
        super().__init__(settings, create_app(settings.token, metrics), metrics)

    def _begin(self) -> None:
        threading.Thread(target=self._load_and_decode, name="decoding", daemon=True).start()

    def _load_and_decode(self) -> None:
        try:
            with frozen_after():
                from anneal_runtime.server.engine import load_engine

                engine = load_engine(self._settings, self._metrics, self._tell_loading)
            asyncio.run_coroutine_threadsafe(self._try_out(engine), self._loop)
            threading.Thread(target=self._end_when_hung, args=(engine,), name="watchdog", daemon=True).start()
            engine.scheduler.run_forever()
        except ModelUnavailable as error:
            self._tell_loading(str(error))
            self._end(exit_codes.MODEL_UNAVAILABLE)
        except Exception as error:
            code = exit_codes.OUT_OF_MEMORY if is_out_of_memory(error) else exit_codes.CODE_ERROR
            self._fail("The engine failed", error, code)

    def _tell_loading(self, sentence: str) -> None:
        log(sentence)
        self._api.report_loading("server_loading", sentence)

    def _end_when_hung(self, engine: Engine) -> None:
        wait_until_hung(engine.scheduler)
        log("The engine hangs: one pass has lasted a quarter of an hour. The server exits to be restarted.")
        self._end(exit_codes.CODE_ERROR, at_once=True)

    async def _try_out(self, engine: Engine) -> None:
        """Opens the server after one real answer."""
        try:
            from anneal_runtime.server.adapters import AdapterStore
            from anneal_runtime.server.engine_adapters import EngineAdapters
            from anneal_runtime.server.text_threads import TextThreads

            if engine.generator is None:
                await encode(engine, [[engine.probe]], None)
            else:
                await generate(engine, [engine.probe], FIRST_GENERATION)
            settings = self._settings
            folder, spec = settings.work_dir / "adapters", settings.spec
            room = spec.max_adapters, spec.adapter_memory_bytes
            sharing = self._app.state.sharing
            adapters = AdapterStore(EngineAdapters(engine), folder, self._metrics, *room, sharing=sharing)
            texts, compiling = TextThreads(engine, sharing), AccountThreads("grammar", COMPILING_THREADS, sharing)
            self._open(Serving(engine, adapters, self._metrics, texts, compiling))
        # Nobody awaits this coroutine: an error that leaves it would be lost, and the server would hang half-started.
        except Exception as error:
            # A full disk is not the model's fault, and another start may succeed.
            model_or_disk = exit_codes.CODE_ERROR if isinstance(error, OSError) else exit_codes.MODEL_UNAVAILABLE
            code = exit_codes.OUT_OF_MEMORY if is_out_of_memory(error) else model_or_disk
            self._fail("The first generation failed", error, code)


def bind(host: str, port: int) -> socket.socket:
    """Bound before anything is loaded: the port is known, and a taken one ends the start at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Name the protocol: asyncio switches off Nagle's delay (40 ms an answer) only on sockets made as TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(1024)
    return listener
