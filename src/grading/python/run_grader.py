"""Runs one grader on samples of its owner, one after the other, in a process that its starter has put into a sandbox.

usage: python -I -S -B run_grader.py [FOLDER_OF_PACKAGES...]

Writes {"started"} to the descriptor 3. Then reads lines from the standard input, each a key and JSON: {"source"} first,
then {"sample", "item"} for each sample. Answers each with its key and {"ready"}, {"score"} or {"error"}. A sample can
write there, too, but it cannot know the key of another. Only the standard library.
"""

import builtins
import ctypes
import errno
import io
import json
import linecache
import math
import os
import platform
import resource
import signal
import struct
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

MEMORY_BYTES = 2 * 1024**3
FILE_BYTES = 1024**3
OPEN_FILES = 64
# As that of the session (bubblewrap.ts). Lower ones would be too late on a busy machine: time limits are of the clock.
NICE = 10
# The longest text of stdout and traceback together.
DETAIL_BYTES = 4096
TRACEBACK_BYTES = 3072
NAME = "grader.py"
KEY_CHARACTERS = 24

Grade = Callable[[object, object], object]

# A grader may change what it can name, also the modules that are used here. What must work after it is taken before.
write, read, isfinite, quote = os.write, os.read, math.isfinite, json.encoder.encode_basestring_ascii
parse = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
current_builtins = vars(builtins)
own_builtins = dict(current_builtins)


def main() -> None:
    sys.path += sys.argv[1:]
    requests, results = os.dup(0), os.dup(3)
    nothing = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2, 3):
        os.dup2(nothing, descriptor)
    limit_resources()
    limit_system_calls()
    send(results, '{"started": true}')
    lines = read_lines(requests)
    key, asked = next(lines)
    answer, grade = load(asked["source"])
    send(results, key + answer)
    if grade is None:
        return
    for key, asked in lines:
        answer = score(grade, asked["sample"], asked["item"])
        restore()
        send(results, key + answer)


def send(results: int, answer: str) -> None:
    left = (answer + "\n").encode()
    while left:
        left = left[write(results, left) :]


def read_lines(requests: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each line comes after the answer to the one before: no sample is in this process before its turn."""
    pending = bytearray()
    while piece := read(requests, 1 << 16):
        pending += piece
        if pending[-1:] == b"\n":
            line = pending.decode()
            pending.clear()
            yield line[:KEY_CHARACTERS], parse(line, KEY_CHARACTERS)[0]


def load(source: str) -> tuple[str, Grade | None]:
    """Returns the answer, and the function if there is one."""
    linecache.cache[NAME] = (len(source), None, source.splitlines(keepends=True), NAME)
    module = types.ModuleType("grader")
    sys.modules["grader"] = module
    said = Said()
    try:
        with redirect_stdout(said), redirect_stderr(said):
            exec(compile(source, NAME, "exec"), vars(module))
            grade = vars(module).get("grade")
            if not callable(grade):
                raise UnusableError("The source defines no function grade(sample, item).")
        return '{"ready": true}', grade
    except BaseException as error:
        return failure(error, said), None
    finally:
        restore()


def score(grade: Grade, sample: object, item: object) -> str:
    said = Said()
    try:
        with redirect_stdout(said), redirect_stderr(said):
            value = number(grade(sample, item))
        return '{"score": ' + repr(value) + "}"
    except BaseException as error:
        restore()
        return failure(error, said)


def number(value: object) -> float:
    if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        raise UnusableError(f"grade returned {type(value).__name__[:100]}, not a number.")
    found = float(value)
    if not isfinite(found):
        raise UnusableError(f"grade returned {found!r}, not a finite number.")
    # A subclass of float may have a repr of its own.
    return 0.0 + float.__float__(found)


def failure(error: BaseException, said: "Said") -> str:
    try:
        frames = error.__traceback__
        # The first frame is ours.
        lines = traceback.format_exception(type(error), error, frames and frames.tb_next, limit=-20)
        trace = str(error) if type(error) is UnusableError else "".join(lines)[-TRACEBACK_BYTES:]
    except BaseException:
        trace = "The grader failed, and its error cannot be shown."
    try:
        return '{"error": ' + quote((said.text + trace)[-DETAIL_BYTES:]) + "}"
    except BaseException:
        return '{"error": "The grader failed, and its error cannot be shown."}'


def restore() -> None:
    """Undoes what a sample may have changed for the next one, by mistake or not. New processes undo everything."""
    current_builtins.update(own_builtins)
    signal.setitimer(signal.ITIMER_REAL, 0)
    sys.settrace(None)
    sys.setprofile(None)
    sys.setrecursionlimit(1000)


class UnusableError(Exception):
    """Its sentence needs no traceback."""


class Said(io.TextIOBase):
    """Keeps the first texts that a grader prints, as many as there is room for."""

    def __init__(self) -> None:
        self.text = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text[: DETAIL_BYTES - TRACEBACK_BYTES - len(self.text)]
        return len(text)


def limit_resources() -> None:
    os.nice(NICE)
    for limit, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_NPROC, 1),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        resource.setrlimit(limit, (most, most))


# System calls by their numbers on x86-64 and on AArch64, which lacks some. One process with one thread keeps the limits
# of memory and processor. The others reach parts of the kernel that no grader needs, or memory that no limit counts.
FORBIDDEN = {
    "fork": (57, None),
    "vfork": (58, None),
    "clone": (56, 220),
    "clone3": (435, 435),
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "personality": (135, 92),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "sched_setaffinity": (203, 122),
    "setpriority": (141, 140),
}
# Their first argument is a family of addresses.
SOCKETS = {"socket": (41, 198), "socketpair": (53, 199)}
# The audit number of each machine, and its column above.
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
X32_CALLS = 0x40000000

LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
CALL_AT, MACHINE_AT, FIRST_ARGUMENT_AT = 0, 4, 16
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
AF_UNIX = 1


def limit_system_calls() -> None:
    """Lasts as long as the process, whatever it does."""
    library = ctypes.CDLL(None, use_errno=True)
    program = system_call_filter(*MACHINES[platform.machine()])
    code = ctypes.create_string_buffer(program, len(program))
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)))
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, FILTER, ctypes.addressof(filters), 0, 0)):
        if library.prctl(*map(ctypes.c_ulong, arguments)) != 0:
            raise OSError(ctypes.get_errno(), "the kernel takes no filter of system calls")


def system_call_filter(machine: int, column: int) -> bytes:
    """A program of classic BPF: jumps name how many instructions they skip when true, and when not."""
    refused = ERRNO | errno.EPERM
    steps = [
        *[(LOAD, 0, 0, MACHINE_AT), (EQUAL, 1, 0, machine), (RETURN, 0, 0, KILL)],
        *[(LOAD, 0, 0, CALL_AT), (AT_LEAST, 0, 1, X32_CALLS), (RETURN, 0, 0, refused)],
    ]
    for numbers in FORBIDDEN.values():
        if (number := numbers[column]) is not None:
            steps += [(EQUAL, 0, 1, number), (RETURN, 0, 0, refused)]
    for numbers in SOCKETS.values():
        steps += [(EQUAL, 0, 4, numbers[column]), (LOAD, 0, 0, FIRST_ARGUMENT_AT), (EQUAL, 1, 0, AF_UNIX)]
        steps += [(RETURN, 0, 0, refused), (RETURN, 0, 0, ALLOW)]
    steps.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


if __name__ == "__main__":
    main()
