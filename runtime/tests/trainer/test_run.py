"""A whole attempt, from claim to exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path

from safetensors.torch import load as load_safetensors
from support.assignments import SPEC_HASH, assign, make_rows
from support.fake_anneal import FakeAnneal
from support.trainer_process import ROOT, TINY, start_trainer
from support.until import PATIENCE_S

from anneal_runtime.model_source import weights_sha256


def test_learns_saves_and_evaluates_in_that_order(anneal: FakeAnneal, tmp_path: Path) -> None:
    rows = make_rows(8)
    assign(anneal, rows, max_steps=25, r_value=64, lora_alpha=64, batch_size=8)
    trainer = start_trainer(anneal.url, tmp_path)
    assert trainer.exit_code() == 0, trainer.log

    assert anneal.calls[0] == "claim"
    assert anneal.phases == ["TRAINING MODEL", "SAVING MODEL", "EVALUATING MODEL"]
    assert anneal.counted_steps() == [*range(1, 11), 20, 25]
    assert anneal.steps[25]["loss"] < anneal.steps[10]["loss"]
    row = anneal.steps[20]
    assert row["learning_rate"] == 2e-3 * (1 - 19 / 25)
    assert row["epoch"] == 20.0 and row["iter_time"] > 0 and row["remaining_time"] > 0
    assert anneal.steps[25]["flops"] > row["flops"] > 1e9
    assert anneal.calls.index("commit") < anneal.calls.index("evaluation")
    assert anneal.evaluation is not None
    assert [(r["input"], r["expected"]) for r in anneal.evaluation["results"]] == [
        (r["input"], r["output"]) for r in rows[:2]
    ]
    assert all(r["tuned"] != r["base"] for r in anneal.evaluation["results"])


def test_the_model_is_an_ordinary_adapter_that_names_its_base(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(4), max_steps=2)
    assert start_trainer(anneal.url, tmp_path).exit_code() == 0
    files = anneal.content("model")
    assert sorted(files) == ["adapter_config.json", "adapter_model.safetensors", "anneal.json"]
    config = json.loads(files["adapter_config.json"])
    assert config["base_model_name_or_path"] == "anneal-tiny" and config["peft_type"] == "LORA"
    assert config["target_modules"] == sorted(config["target_modules"])
    assert str(ROOT) not in files["adapter_config.json"].decode()
    assert json.loads(files["anneal.json"]) == {
        "base_model": "anneal-tiny",
        "base_sha256": weights_sha256(TINY),
        "spec_hash": SPEC_HASH,
        "step": 2,
    }
    weights = load_safetensors(files["adapter_model.safetensors"])
    assert len(weights) == 4 * 7 * 2
    assert all(name.startswith("base_model.model.model.layers.") for name in weights)


def test_memorises_ten_rows_as_the_program_that_a_pod_runs(anneal: FakeAnneal, tmp_path: Path) -> None:
    """On the GPU where there is one."""
    subprocess.run([sys.executable, TINY / "make_qa.py", "10", tmp_path / "rows"], check=True)
    rows = [json.loads(line) for line in (tmp_path / "rows").read_text().splitlines()]
    arguments = {"max_steps": 50, "r_value": 64, "lora_alpha": 64, "batch_size": 10, "warmup_steps": 5}
    assign(anneal, rows, rows, answer_tokens=None, **arguments)
    done = run_program(anneal, tmp_path)
    assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
    assert anneal.evaluation is not None
    results = anneal.evaluation["results"]
    assert sum(result["tuned"] == result["expected"] for result in results) >= 9
    assert sum(result["base"].strip() == result["expected"] for result in results) <= 1


def test_plain_text_rows_are_learned_as_a_whole(anneal: FakeAnneal, tmp_path: Path) -> None:
    texts = [{"input": "", "output": row["input"] + row["output"]} for row in make_rows(4)]
    assign(anneal, texts, max_steps=10)
    assert start_trainer(anneal.url, tmp_path).exit_code() == 0
    assert anneal.evaluation is not None and len(anneal.evaluation["results"]) == 2


def test_epochs_replace_steps(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(10), max_steps=100, num_train_epochs=2, batch_size=2, gradient_accumulation_steps=2)
    assert start_trainer(anneal.url, tmp_path).exit_code() == 0
    assert max(anneal.steps) == 6 and anneal.steps[6]["epoch"] == 2.0


def test_notes_the_arguments_that_could_not_be_honoured(anneal: FakeAnneal, tmp_path: Path) -> None:
    rows = [*make_rows(3), {"input": "A long one. " * 400, "output": "Yes."}]
    assign(anneal, rows, max_steps=2, max_length=4096, optim="lion_8bit", target_modules="no_such_layer", beam_count=3)
    assert start_trainer(anneal.url, tmp_path).exit_code() == 0
    assert {note["code"] for note in anneal.notes} == {
        "argument_ignored",
        "max_length_cut",
        "rows_cut",
        "optim_replaced",
        "target_modules_replaced",
    }
    assert anneal.row_counts is not None
    counted = {name: anneal.row_counts[name] for name in ("rows", "cut", "dropped", "complete")}
    assert counted == {"rows": 4, "cut": 1, "dropped": 0, "complete": True}
    assert anneal.row_counts["tokens"] > anneal.row_counts["learned"] > 0


def test_evaluate_mode_reports_the_same_as_the_training_attempt(anneal: FakeAnneal, tmp_path: Path) -> None:
    assign(anneal, make_rows(4), max_steps=10)
    assert start_trainer(anneal.url, tmp_path / "train").exit_code() == 0
    evaluated, anneal.evaluation = anneal.evaluation, None
    anneal.assignment |= {"mode": "evaluate", "model": anneal.artifact("model"), "attempt": 2}
    anneal.claim_ids.clear()
    anneal.calls.clear()
    assert start_trainer(anneal.url, tmp_path / "evaluate").exit_code() == 0
    assert anneal.evaluation == evaluated
    assert "artifacts" not in anneal.calls and "steps" not in anneal.calls


def test_a_missing_environment_variable_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "anneal_runtime.trainer"],
        env={"PYTHONPATH": str(ROOT / "runtime"), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 70 and "ANNEAL_INTERNAL_URL" in done.stdout


def run_program(anneal: FakeAnneal, work_dir: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "runtime"),
        "ANNEAL_INTERNAL_URL": anneal.url,
        "ANNEAL_TOKEN": anneal.token,
        "ANNEAL_MODELS_DIR": str(ROOT),
        "ANNEAL_WORK_DIR": str(work_dir),
    }
    command = [sys.executable, "-m", "anneal_runtime.trainer"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)
