"""Starts one program and records its end. It outlives the worker: own session, child of init.

usage: python -I -S watch_run.py CLAIM_DIR RUN_DIR LOG_LIMIT_BYTES ORPHAN_GRACE_MS DISK_LIMIT_BYTES PROGRAM [ARG...]
       python -I -S watch_run.py --watch PID RUN_DIR LOG_LIMIT_BYTES ORPHAN_GRACE_MS DISK_LIMIT_BYTES

The second form goes on with a program that this very process has started (prepared.py).
Renaming CLAIM_DIR to RUN_DIR is the exclusive claim of the run's name: a folder that is seen is whole, with the pid of
a program that waits for the word to start. Prints "started" or "taken". The environment is the program's. A folder
above DISK_LIMIT_BYTES ends the program; 0 is no limit.
"""

import errno
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from typing import NoReturn

CHECK_SECONDS = 2.0

# Makes a process of the run into its program, which the list names.
Start = Callable[[list[str]], object]


def main() -> None:
    if sys.argv[1] == "--watch":
        watch(*sys.argv[2:])
    elif watched := launch(sys.argv[1:], exec_program, report):
        watch(*watched)


def launch(arguments: list[str], start: Start, answer: Callable[[str], None]) -> tuple[str, ...] | None:
    """Returns in the process that is to watch the program, with the arguments of `watch`. None: the name was taken."""
    claim, run, log_limit_bytes, orphan_grace_ms, disk_limit_bytes, *program = arguments
    if os.fork():
        os._exit(0)
    os.setsid()
    os.chdir("/")
    pid, go = fork_program(claim, run, program, start)
    # A shutdown's SIGTERM is for the program; someone must be left to record how it ended.
    for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    for name, process in (("pid", pid), ("watcher", os.getpid())):
        write_file(os.path.join(claim, name), str(process))
        write_file(os.path.join(claim, name + ".started"), start_of(process))
    if not take(claim, run):
        answer("taken")
        return None  # the pipe closes, the program's process leaves
    os.write(go, b"!")
    os.close(go)
    answer("started")
    return str(pid), run, log_limit_bytes, orphan_grace_ms, disk_limit_bytes


def fork_program(claim: str, run: str, program: list[str], start: Start) -> tuple[int, int]:
    """The program's process, leader of its own session and group, waiting for a byte. Dies if we do first."""
    ready_read, ready_write = os.pipe()
    go_read, go_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ready_read)
        os.close(go_write)
        become_program(claim, run, program, start, ready_write, go_read)
    os.close(ready_write)
    os.close(go_read)
    if not os.read(ready_read, 1):
        raise RuntimeError("the program's process ended before it could start")
    return pid, go_write


def become_program(claim: str, run: str, program: list[str], start: Start, ready: int, go: int) -> NoReturn:
    try:
        os.setsid()
        log = os.open(os.path.join(claim, "log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.write(ready, b"!")
        os.close(ready)
        if os.read(go, 1):
            os.close(go)
            os.chdir(os.path.join(run, "work"))
            start(program)
    except BaseException as error:
        os.write(2, f"{program[0]} could not be started: {error}\n".encode())
    finally:
        os._exit(127)


def exec_program(program: list[str]) -> NoReturn:
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    os.execvp(program[0], program)


def take(claim: str, run: str) -> bool:
    try:
        os.rename(claim, run)
        return True
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise


def report(outcome: str) -> None:
    try:
        os.write(1, outcome.encode())
    except OSError:
        pass  # the launching process has died; the run goes on and will be adopted
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def watch(program: str, run: str, log_limit: str, orphan_grace_ms: str, disk_limit: str) -> None:
    pid, log_limit_bytes, disk_limit_bytes = int(program), int(log_limit), int(disk_limit)
    # WNOWAIT leaves a zombie, so that the pid, and the group's id with it, cannot be reused before the group is gone.
    how = os.WEXITED | os.WNOWAIT
    over_limit = False
    while not (ended := os.waitid(os.P_PID, pid, how | os.WNOHANG)):
        signal.sigtimedwait({signal.SIGCHLD}, CHECK_SECONDS)
        cut_log(os.path.join(run, "log"), log_limit_bytes)
        if 0 < disk_limit_bytes < size_of(run):
            # At once, as a cluster does: a last checkpoint would need still more disk.
            os.killpg(pid, signal.SIGKILL)
            over_limit = True
    if ended.si_code == os.CLD_EXITED:
        end = {"exit": str(ended.si_status)}
    else:
        end = {"signal": signal_name(ended.si_status), "exit": str(128 + ended.si_status)}
        if over_limit:
            end = {"disk": str(disk_limit_bytes), **end}
    recorded = record(run, end)
    deadline = time.monotonic() + int(orphan_grace_ms) / 1000
    while leftovers(pid):
        if time.monotonic() >= deadline:
            os.killpg(pid, signal.SIGKILL)
        time.sleep(0.05)
    shutil.rmtree(os.path.join(run, "work"), ignore_errors=True)
    # A disk that others fill is waited out: without this file a finished run would count as lost.
    while not (recorded or record(run, end)) and os.path.isdir(run):
        time.sleep(1)


def record(run: str, end: dict[str, str]) -> bool:
    """In this order, each file whole or not at all. False when the disk is full."""
    try:
        for name, text in end.items():
            path = os.path.join(run, name)
            write_file(path + ".new", text)
            os.rename(path + ".new", path)
    except OSError:
        return False
    return True


def write_file(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def cut_log(path: str, limit_bytes: int) -> None:
    """Keeps the first half and what is written from now on; the program appends, so it needs not know."""
    try:
        if os.path.getsize(path) > limit_bytes:
            os.truncate(path, limit_bytes // 2)
            with open(path, "a", encoding="ascii") as file:
                file.write(f"\n[this log passed {limit_bytes} bytes: lines were dropped here]\n")
    except OSError:
        pass


def size_of(folder: str) -> int:
    """Bytes on the disk. A file with several names counts once; one that vanishes meanwhile does not count."""
    sizes: dict[int, int] = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                entry = os.lstat(os.path.join(parent, name))
            except OSError:
                continue
            sizes[entry.st_ino] = entry.st_blocks * 512
    return sum(sizes.values())


def start_of(pid: int) -> str:
    """With the pid, names a process for ever: pids are reused, a start within a boot is not."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{file.read().strip()} {stat_fields(pid)[19]}"
    except OSError:
        return ""  # no /proc here


def leftovers(group: int) -> bool:
    """Whether the group has living members besides its ended leader."""
    for entry in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if entry.isdigit() and int(entry) != group:
            try:
                fields = stat_fields(int(entry))
            except OSError:
                continue
            if int(fields[2]) == group and fields[0] not in "ZX":
                return True
    return False


def stat_fields(pid: int) -> list[str]:
    """From the state (field 3 of proc(5)) on: the name before it may hold spaces and parentheses."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()


if __name__ == "__main__":
    main()
