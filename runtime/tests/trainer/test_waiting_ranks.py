"""Two processes of a reinforcement run, one of which has nothing to do for longer than a peer may be silent."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.assignments import assign_sampling
from support.fake_anneal import FakeAnneal
from support.forked_program import ForkedProgram
from support.nodes import codes, start_nodes
from support.trainer_process import train

from anneal_runtime import exit_codes

PEER_TIMEOUT_S = 1


def sample_long() -> None:
    """Rank 1 takes three times as long for its answers as a peer may be silent."""
    sample_until(lambda started: time.monotonic() > started + 3 * PEER_TIMEOUT_S)


def sample_endlessly() -> None:
    sample_until(lambda _started: False)


def sample_until(is_over: Callable[[float], bool]) -> None:
    from anneal_runtime.trainer.rollouts.sample import Sampler

    sample = Sampler.sample

    def slow(sampler: Sampler, asked: Any, pulse: Callable[[], None]) -> Any:
        started, Sampler.sample = time.monotonic(), sample  # type: ignore[method-assign]
        print("samples", flush=True)
        while os.environ["ANNEAL_NODE_RANK"] == "1" and not is_over(started):
            pulse()
            time.sleep(0.01)
        return sample(sampler, asked, pulse)

    Sampler.sample = slow  # type: ignore[method-assign]
    train_with_short_pulses()


def commit_endlessly() -> None:
    from anneal_runtime.trainer.rollouts.record import JobRecord

    def commit(*_what: Any) -> None:
        print("commits", flush=True)
        while True:
            time.sleep(0.1)

    JobRecord.commit = commit  # type: ignore[method-assign]
    train_with_short_pulses()


def train_with_short_pulses() -> None:
    from anneal_runtime.trainer import distributed

    distributed.PULSE_S = PEER_TIMEOUT_S / 5
    train()


def start(anneal: FakeAnneal, folder: Path, main: Callable[[], None], seen: str) -> list[ForkedProgram]:
    """Returns once what the test is about is under way."""
    assign_sampling(anneal, 6, max_steps=2)
    nodes = start_nodes(anneal, folder, main=main, ANNEAL_PEER_TIMEOUT_S=str(PEER_TIMEOUT_S))
    anneal.wait_for(lambda: any(node.log_path.exists() and seen in node.log for node in nodes))
    return nodes


def test_a_process_waits_for_one_that_samples_longer_than_a_peer_may_be_silent(
    anneal: FakeAnneal, tmp_path: Path
) -> None:
    nodes = start(anneal, tmp_path, sample_long, "samples")
    assert codes(nodes) == [0, 0], nodes[0].log + nodes[1].log


@pytest.mark.parametrize("rank", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_sigterm_to_any_process_ends_the_sampling_of_another(anneal: FakeAnneal, tmp_path: Path, rank: int) -> None:
    nodes = start(anneal, tmp_path, sample_endlessly, "samples")
    nodes[rank].signal(signal.SIGTERM)
    assert codes(nodes) == [143, 143], nodes[0].log + nodes[1].log


def test_a_process_does_not_wait_for_one_that_died_while_it_sampled(anneal: FakeAnneal, tmp_path: Path) -> None:
    nodes = start(anneal, tmp_path, sample_endlessly, "samples")
    nodes[1].signal(signal.SIGKILL)
    assert codes(nodes) == [exit_codes.PEER_LOST, -signal.SIGKILL], nodes[0].log


@pytest.mark.parametrize("rank", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_sigterm_to_any_process_ends_a_call_that_is_not_answered(anneal: FakeAnneal, tmp_path: Path, rank: int) -> None:
    nodes = start(anneal, tmp_path, commit_endlessly, "commits")
    nodes[rank].signal(signal.SIGTERM)
    assert codes(nodes) == [143, 143], nodes[0].log + nodes[1].log
