"""What a program does about a disk that is full: it leaves its log's lines out, and waits with what it fetches."""

import subprocess
import sys
from pathlib import Path

import pytest
from server.support.file_host import FileHost

from anneal_runtime.retry import RetryPolicy, Unavailable
from anneal_runtime.transfer import RemoteFile, download

FULL = Path("/dev/full")
PROGRAM = "from anneal_runtime.log import exit_now, log; log('a line'); exit_now(7)"


def test_lines_of_the_log_are_left_out() -> None:
    with FULL.open("w") as full:
        assert subprocess.run([sys.executable, "-c", PROGRAM], stdout=full, stderr=full).returncode == 7


def test_a_file_that_cannot_be_written_is_worth_another_try(tmp_path: Path) -> None:
    (tmp_path / "rows.part").symlink_to(FULL)
    with FileHost(tmp_path) as host:
        [described] = host.publish("there", {"rows": b"a row"})
        with pytest.raises(Unavailable, match="rows cannot be written"):
            download(RemoteFile.from_json(described), tmp_path / "rows", RetryPolicy(give_up_after_s=0.0))
        (tmp_path / "rows.part").unlink()
        assert download(RemoteFile.from_json(described), tmp_path / "rows").read_bytes() == b"a row"
