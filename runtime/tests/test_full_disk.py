"""What a program does about a disk that is full: it leaves out log lines and checkpoints, and waits with the rest."""

import subprocess
import sys
from pathlib import Path

import pytest
from server.support.file_host import FileHost
from support.assignments import assign, make_rows
from support.fake_anneal import FakeAnneal
from support.trainer_process import start_trainer

from anneal_runtime.retry import RetryPolicy, Unavailable
from anneal_runtime.transfer import RemoteFile, download

FULL = Path("/dev/full")
PROGRAM = "from anneal_runtime.log import exit_now, log; log('a line'); exit_now(7)"

NO_ROOM = """
import resource, sys, torch
from safetensors.torch import save_file
from anneal_runtime.trainer.adapter import CANNOT_WRITE
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    save_file({"weights": torch.zeros(10_000)}, sys.argv[1])
except CANNOT_WRITE:
    sys.exit(7)
"""


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


@pytest.mark.slow
def test_weights_without_room_are_known(tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", NO_ROOM, tmp_path / "weights.safetensors"]).returncode == 7


def test_a_training_leaves_checkpoints_out_and_waits_with_its_model(tmp_path: Path) -> None:
    for folder, file in [("checkpoint-10", "trainer_state.json"), ("model", "anneal.json")]:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).symlink_to(FULL)
    anneal = FakeAnneal(assignment={}).start()
    assign(anneal, make_rows(4), max_steps=25, save_steps=10)
    trainer = start_trainer(anneal.url, tmp_path)
    anneal.wait_for(lambda: "SAVING MODEL" in anneal.phases)
    anneal.wait_for(lambda: "The model cannot be written" in trainer.log)
    (tmp_path / "model" / "anneal.json").unlink()
    assert trainer.exit_code() == 0, trainer.log
    anneal.stop()
    assert "The checkpoint of step 10 cannot be written" in trainer.log
    assert not (tmp_path / "checkpoint-10").exists()
    assert anneal.counted_steps() == [*range(1, 11), 20, 25]
    kept = [(artifact["kind"], artifact["step"]) for artifact in anneal.committed]
    assert sorted(kept) == [("checkpoint", 20), ("model", 25)]
