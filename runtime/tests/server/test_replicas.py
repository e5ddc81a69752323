"""A group of replicas, with programs in the servers' place that say that they run and then do as they are told."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from server.support.running import REPOSITORY
from server.support.server_reports import ServerReports
from support.until import until

from anneal_runtime import exit_codes

# Writes its pid under its instance's name, then waits to be ended, or ends as the file "end" in its folder says.
REPLICA = """
import os, pathlib, sys, time
work = pathlib.Path(os.environ["ANNEAL_WORK_DIR"])
work.mkdir(parents=True, exist_ok=True)
(work / os.environ["ANNEAL_INSTANCE"]).write_text(str(os.getpid()))
assert os.environ["ANNEAL_REPLICAS"] == "1" and os.environ["ANNEAL_PORT"] == "0"
while not (work.parent / "end").exists():
    time.sleep(0.02)
sys.exit(int((work.parent / "end").read_text()))
"""
GROUP = f"""
from anneal_runtime.log import exit_now
from anneal_runtime.server import replicas
from anneal_runtime.settings import ServerSettings
replicas.LONGEST_BACK_OFF_S = 0.05
exit_now(replicas.ReplicaGroup(ServerSettings.from_environment(), [{sys.executable!r}, "-c", {REPLICA!r}]).run())
"""


class Group:
    def __init__(self, anneal: ServerReports, work_dir: Path) -> None:
        self.work_dir, self.anneal = work_dir, anneal
        settings = {
            "ANNEAL_INTERNAL_URL": anneal.url,
            "ANNEAL_TOKEN": "a-server-token",
            "ANNEAL_WORK_DIR": str(work_dir),
            "ANNEAL_SERVER_SPEC": json.dumps({"name": "x", "engine": "transformers", "source": {"path": "x"}}),
            "ANNEAL_INSTANCE": "host-1",
            "ANNEAL_REPLICAS": "2",
            "PYTHONPATH": str(REPOSITORY / "runtime"),
        }
        self.process = subprocess.Popen([sys.executable, "-c", GROUP], env={**os.environ, **settings})

    def pid(self, index: int) -> int | None:
        file = self.work_dir / f"replica-{index}" / f"host-1-{index}"
        return int(file.read_text() or 0) or None if file.exists() else None

    def pids(self) -> list[int]:
        return [pid for pid in (self.pid(0), self.pid(1)) if pid is not None]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    anneal = ServerReports()
    group = Group(anneal, tmp_path)
    until(lambda: len(group.pids()) == 2)
    yield group
    group.process.terminate()
    group.process.wait(30)
    anneal.stop()


def test_a_replica_that_dies_is_reported_and_started_again_while_the_others_go_on(group: Group) -> None:
    stays, dies = group.pids()
    os.kill(dies, signal.SIGKILL)
    until(lambda: group.pid(1) not in (dies, None))
    assert group.pid(0) == stays and is_alive(stays)
    until(lambda: group.anneal.reports)
    assert [(report["path"], report["instance"]) for report in group.anneal.reports] == [
        ("/internal/v1/server/leaving", "host-1-1")
    ]


def test_sigterm_ends_all_of_them(group: Group) -> None:
    pids = group.pids()
    group.process.terminate()
    assert group.process.wait(30) == exit_codes.TERMINATED
    assert not any(is_alive(pid) for pid in pids)


def test_a_reason_that_lasts_ends_all_of_them_at_once(group: Group) -> None:
    (group.work_dir / "end").write_text(str(exit_codes.MODEL_UNAVAILABLE))
    assert group.process.wait(30) == exit_codes.MODEL_UNAVAILABLE


def test_the_group_ends_when_no_replica_can_live(group: Group) -> None:
    (group.work_dir / "end").write_text(str(exit_codes.OUT_OF_MEMORY))
    assert group.process.wait(30) == exit_codes.OUT_OF_MEMORY
