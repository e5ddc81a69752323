"""Being stopped, killed, fenced or cut off: what is lost, and what a resume gives."""

import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from support.assignments import assign, make_rows, resume
from support.fake_anneal import FakeAnneal
from support.trainer_process import start_trainer

LONG = {"max_steps": 40, "lora_dropout": 0.1, "batch_size": 3, "gradient_accumulation_steps": 2}
ROWS = make_rows(17)

Outcome = tuple[list[tuple[float, ...]], bytes]


def outcome(anneal: FakeAnneal) -> Outcome:
    keys = ("step", "loss", "learning_rate", "epoch", "flops")
    trace = [tuple(anneal.steps[step][key] for key in keys) for step in anneal.counted_steps()]
    return trace, anneal.content("model")["adapter_model.safetensors"]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Outcome]:
    """What LONG comes to in one go, without a checkpoint."""

    @cache
    def run(optim: str) -> Outcome:
        anneal = FakeAnneal(assignment={}).start()
        assign(anneal, ROWS, **LONG, optim=optim)
        assert start_trainer(anneal.url, tmp_path_factory.mktemp("whole")).exit_code() == 0
        anneal.stop()
        return outcome(anneal)

    return run


@pytest.mark.parametrize(
    "optim", ["adamw_torch", *(pytest.param(name, marks=pytest.mark.slow) for name in ("adafactor", "sgd"))]
)
def test_stop_and_resume_equal_an_uninterrupted_run_bit_for_bit(
    anneal: FakeAnneal, tmp_path: Path, uninterrupted: Callable[[str], Outcome], optim: str
) -> None:
    assign(anneal, ROWS, **LONG, optim=optim)
    stopped = start_trainer(anneal.url, tmp_path / "stopped")
    anneal.wait_for(lambda: 10 in anneal.steps)
    stopped.signal(signal.SIGTERM)
    assert stopped.exit_code() == 143, stopped.log
    checkpoint = anneal.artifact("checkpoint")
    assert checkpoint is not None and 10 <= checkpoint["step"] < 40
    assert all(file["name"].endswith((".safetensors", ".json")) for file in checkpoint["files"])

    resume(anneal)
    anneal.step_posts.clear()
    resumed = start_trainer(anneal.url, tmp_path / "resumed")
    assert resumed.exit_code() == 0, resumed.log
    assert min(step for post in anneal.step_posts for step in post) > checkpoint["step"]
    assert outcome(anneal) == uninterrupted(optim)


def test_kill_and_resume_from_a_periodic_checkpoint_equal_an_uninterrupted_run(
    anneal: FakeAnneal, tmp_path: Path, uninterrupted: Callable[[str], Outcome]
) -> None:
    assign(anneal, ROWS, **LONG, save_steps=7)
    killed = start_trainer(anneal.url, tmp_path / "killed")
    anneal.wait_for(lambda: 20 in anneal.steps and anneal.artifact("checkpoint") is not None)
    killed.signal(signal.SIGKILL)
    assert killed.exit_code() == -signal.SIGKILL
    step = (anneal.artifact("checkpoint") or {})["step"]
    assert all(row in anneal.steps for row in range(10, step + 1, 10)), "history up to the checkpoint is complete"

    resume(anneal)
    assert start_trainer(anneal.url, tmp_path / "resumed").exit_code() == 0
    assert outcome(anneal) == uninterrupted("adamw_torch")


def test_a_continued_training_is_compared_with_its_start_after_a_resume(anneal: FakeAnneal, tmp_path: Path) -> None:
    rows = [{"input": row["input"], "answer": row["output"], "label": n % 3 > 0} for n, row in enumerate(ROWS)]
    start = Path(__file__).parent / "trl" / "start-adapter"

    files = [{"name": path.name, **anneal.store(path.name, path.read_bytes())} for path in start.iterdir()]

    def begin(**args: int) -> None:
        assign(anneal, rows, max_steps=12, batch_size=6, **args)
        anneal.assignment["method"] = {"type": "kto", "kto": {"hyperparameters": {"beta": 0.1}}}
        anneal.assignment["start"] = {"model_name": "earlier", "files": files}

    def figures() -> list[tuple[float, float]]:
        return [(row["loss"], row["series"]["kl"]) for _, row in sorted(anneal.steps.items())]

    begin()
    assert start_trainer(anneal.url, tmp_path / "whole").exit_code() == 0
    whole = figures()
    begin(save_steps=4)
    anneal.claim_ids.clear()
    killed = start_trainer(anneal.url, tmp_path / "killed")
    anneal.wait_for(lambda: anneal.artifact("checkpoint") is not None)
    killed.signal(signal.SIGKILL)
    killed.exit_code()
    resume(anneal)
    # The tuned model may be gone.
    anneal.assignment["start"]["files"] = [{**file, "url": f"{anneal.url}/gone"} for file in files]
    assert start_trainer(anneal.url, tmp_path / "resumed").exit_code() == 0
    assert figures() == whole


def test_a_resume_after_the_last_step_only_saves(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(4), max_steps=12, save_steps=5)
    assert start_trainer(anneal.url, tmp_path / "first").exit_code() == 0
    checkpoint = anneal.artifact("checkpoint")
    assert checkpoint is not None
    resume(anneal)
    # The specification of a job does not change; this stands for a checkpoint at its very end.
    anneal.assignment["args"]["max_steps"] = checkpoint["step"]
    anneal.step_posts.clear()
    assert start_trainer(anneal.url, tmp_path / "second").exit_code() == 0
    assert anneal.step_posts == [] and (anneal.artifact("model") or {})["step"] == checkpoint["step"]


@pytest.mark.parametrize("route", ["GET", "evaluation"])
def test_sigterm_outside_of_training_ends_at_once(anneal: FakeAnneal, tmp_path: Path, route: str) -> None:
    assign(anneal, make_rows(4), max_steps=2)
    anneal.refuse[route] = (1000, 503, "unavailable")
    trainer = start_trainer(anneal.url, tmp_path)
    anneal.wait_for(lambda: anneal.refuse[route][0] < 999)
    trainer.signal(signal.SIGTERM)
    assert trainer.exit_code() == 143


def test_sigterm_while_saving_still_commits_the_model(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(4), max_steps=2)
    anneal.refuse["PUT"] = (2, 503, "unavailable")
    trainer = start_trainer(anneal.url, tmp_path)
    anneal.wait_for(lambda: anneal.refuse["PUT"][0] < 2)
    trainer.signal(signal.SIGTERM)
    assert trainer.exit_code() == 143
    assert anneal.artifact("model") is not None and anneal.evaluation is None


def test_a_fence_ends_the_run_at_once(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(4), max_steps=5000)
    trainer = start_trainer(anneal.url, tmp_path)
    anneal.wait_for(lambda: 10 in anneal.steps)
    anneal.fenced = True
    assert trainer.exit_code() == 77
    assert anneal.failure is None


def test_only_the_first_process_of_an_attempt_may_claim(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(4), max_steps=2)
    assert start_trainer(anneal.url, tmp_path / "first").exit_code() == 0
    assert start_trainer(anneal.url, tmp_path / "second").exit_code() == 77


@pytest.mark.parametrize(("status", "code"), [(401, 77), (404, 77), (410, 77), (426, 78)])
def test_a_refused_claim(anneal: FakeAnneal, tmp_path: Path, status: int, code: int) -> None:
    anneal.refuse["claim"] = (1, status, "refused")
    assert start_trainer(anneal.url, tmp_path).exit_code() == code


def test_training_goes_on_while_the_api_is_away(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(8), max_steps=50, save_steps=20)
    trainer = start_trainer(anneal.url, tmp_path)
    anneal.wait_for(lambda: 10 in anneal.steps)
    anneal.away = True
    while "Saving model" not in trainer.log:
        assert trainer.process.is_alive()
        trainer.process.join(0.05)
    assert max(anneal.steps) < 50
    anneal.away = False
    assert trainer.exit_code() == 0, trainer.log
    assert anneal.counted_steps() == [*range(1, 11), 20, 30, 40, 50]
    posted = [step for post in anneal.step_posts for step in post]
    assert posted == sorted(posted)
    assert anneal.evaluation is not None
