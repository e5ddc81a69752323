"""Serves one grader's processes in its pod, one after the other. The first process of the pod.

usage: python -I serve_graders.py

A connection that upgrades to `anneal-grader` with the pod's token waits for its turn, and then has a fresh process of
run_grader.py: its bytes go to the process, and the results of the process come back in frames of four bytes of length
and the bytes. An empty frame ends them, followed by how the process ended. A process ends with its connection.
Only the standard library.
"""

import asyncio
import ctypes
import hashlib
import hmac
import os
import signal
import stat
import subprocess
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

PORT = 8000
HEAD_SECONDS = 10
PIECE_BYTES = 1 << 15
# Longer than loading, a turn and one sample together.
PROCESS_SECONDS = 300
# A process that has closed its results ends now.
LEAVE_SECONDS = 1
MOST_CONNECTIONS = 64
# What graders may write to, so that the next one finds it empty.
FOLDERS = ("/tmp", "/dev/shm")
TERMINATION_LOG = "/dev/termination-log"
PROGRAM = str(Path(__file__).resolve().with_name("run_grader.py"))
PACKAGES = [folder for folder in sys.path if folder.endswith("-packages") and Path(folder).is_dir()]
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
VARIABLES = {"LANG": "C.UTF-8", "HOME": "/tmp", "JOBLIB_MULTIPROCESSING": "0", **dict.fromkeys(ONE_THREAD, "1")}
# The results of a grader are its descriptor 3.
COMMAND = ("/bin/sh", "-c", 'exec "$@" 3>&1 >/dev/null', "sh", sys.executable, "-I", "-S", "-B", PROGRAM, *PACKAGES)
PR_SET_DUMPABLE = 4

# Calls a function in a thread.
Run = Callable[..., Any]


class Server:
    def __init__(self, token_sha256: str, idle_seconds: float) -> None:
        self.token_sha256 = token_sha256
        self.idle_seconds = idle_seconds
        self.connections = 0
        self.turn = asyncio.Lock()
        self.used = asyncio.Event()

    async def run(self) -> None:
        """Returns once nobody has been connected for a while."""
        async with await asyncio.start_server(self.connected, "0.0.0.0", PORT, limit=PIECE_BYTES):
            while True:
                self.used.clear()
                try:
                    await asyncio.wait_for(self.used.wait(), self.idle_seconds)
                except TimeoutError:
                    if self.connections == 0:
                        return

    async def connected(self, reader: StreamReader, writer: StreamWriter) -> None:
        """A probe of the cluster connects, and leaves without a word."""
        try:
            refusal = await self.refusal(reader)
            if refusal:
                writer.write(f"HTTP/1.1 {refusal}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
                await writer.drain()
            else:
                await self.serve(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            # The caller has left, or said nothing that can be read.
            pass
        finally:
            writer.close()

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.connections += 1
        try:
            async with self.turn:
                await serve_process(reader, writer)
        finally:
            self.connections -= 1
            self.used.set()

    async def refusal(self, reader: StreamReader) -> str | None:
        async with asyncio.timeout(HEAD_SECONDS):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = (line.partition(":") for line in head.split("\r\n")[1:])
        headers = {name.strip().lower(): value.strip() for name, _, value in lines}
        token = headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(hashlib.sha256(token.encode()).hexdigest(), self.token_sha256):
            return "401 Unauthorized"
        if headers.get("upgrade") != "anneal-grader":
            return "426 Upgrade Required"
        return "503 Service Unavailable" if self.connections >= MOST_CONNECTIONS else None


async def serve_process(reader: StreamReader, writer: StreamWriter) -> None:
    if reader.at_eof():
        return
    writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: anneal-grader\r\n\r\n")
    # Threads, because asyncio does not see the end of a process whose output it does not read.
    with start() as process, ThreadPoolExecutor() as threads:
        run = partial(asyncio.get_running_loop().run_in_executor, threads)
        asked = asyncio.create_task(pass_requests(reader, process, run))
        answered = asyncio.create_task(pass_results(process, writer, run))
        try:
            async with asyncio.timeout(PROCESS_SECONDS):
                await asyncio.wait((asked, answered), return_when=asyncio.FIRST_COMPLETED)
                if answered.done() and not answered.exception():
                    await tell_end(process, writer, run)
        finally:
            # A grader cannot start processes, so it is the only one.
            process.kill()
            process.wait()
            asked.cancel()
            answered.cancel()
            await asyncio.gather(asked, answered, return_exceptions=True)
    clean()


def start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        COMMAND, bufsize=0, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=VARIABLES, cwd="/tmp", start_new_session=True
    )


async def pass_requests(reader: StreamReader, process: subprocess.Popen[bytes], run: Run) -> None:
    """Returns when the caller has left. The process may have ended before it reads."""
    assert process.stdin
    while left := await reader.read(PIECE_BYTES):
        with suppress(OSError):
            while left:
                left = left[await run(process.stdin.write, left) :]


async def pass_results(process: subprocess.Popen[bytes], writer: StreamWriter, run: Run) -> None:
    assert process.stdout
    while piece := await run(process.stdout.read, PIECE_BYTES):
        writer.write(len(piece).to_bytes(4, "big") + piece)
        await writer.drain()


async def tell_end(process: subprocess.Popen[bytes], writer: StreamWriter, run: Run) -> None:
    with suppress(subprocess.TimeoutExpired):
        await run(process.wait, LEAVE_SECONDS)
    process.kill()
    code = process.wait()
    said = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    writer.write(bytes(4) + said.encode())
    await writer.drain()


def clean() -> None:
    """The pod ends where something stays, because the next grader would find it."""
    try:
        for folder in FOLDERS:
            empty(folder)
        with suppress(OSError):
            os.truncate(TERMINATION_LOG, 0)
    except Exception:
        os._exit(1)


def empty(folder: str) -> None:
    for entry in os.scandir(folder):
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            path.chmod(stat.S_IRWXU)
            empty(entry.path)
            path.rmdir()
        else:
            path.unlink()


def main() -> None:
    # A grader has the same user: it must not read or change this process, nor end it. Signals without a handler do not
    # reach the first process of a pod.
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        sys.exit("this process cannot be closed to graders")
    if os.getpid() != 1:
        sys.exit("this program has to be the first process of its pod")
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    idle_seconds = float(os.environ["ANNEAL_IDLE_SECONDS"])
    asyncio.run(Server(os.environ["ANNEAL_TOKEN_SHA256"], idle_seconds).run())


if __name__ == "__main__":
    main()
