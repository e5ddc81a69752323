"""Training on from a tuned model: its adapter is the start."""

from pathlib import Path

import torch
from safetensors.torch import load
from support.assignments import assign, make_rows, resume
from support.fake_anneal import FakeAnneal
from support.trainer_process import start_trainer

WEIGHTS = "adapter_model.safetensors"


def test_begins_where_the_tuned_model_ended_and_resumes_without_it(anneal: FakeAnneal, tmp_path: Path) -> None:
    rows = make_rows(4)
    assign(anneal, rows, max_steps=20, target_modules=["q_proj", "up_proj"])
    assert start_trainer(anneal.url, tmp_path / "first").exit_code() == 0
    loss, tuned = anneal.steps[20]["loss"], load(anneal.content("model")[WEIGHTS])
    parent = anneal.artifact("model")
    assert parent is not None
    start = {"model_name": "c" * 64, "files": parent["files"]}

    # The rank of the adapter holds, whatever the arguments say.
    assign(anneal, rows, max_steps=4, save_steps=2, learning_rate=1e-5, r_value=16, lora_dropout=0.1)
    anneal.assignment["start"] = start
    anneal.claim_ids.clear()
    anneal.steps.clear()
    trainer = start_trainer(anneal.url, tmp_path / "second")
    assert trainer.exit_code() == 0, trainer.log
    assert abs(anneal.steps[4]["loss"] - loss) < 0.3 * loss + 0.2
    continued = load(anneal.content("model")[WEIGHTS])
    assert continued.keys() == tuned.keys()
    for name, weights in continued.items():
        assert torch.allclose(weights, tuned[name], atol=1e-3), name
    assert any(not torch.equal(weights, tuned[name]) for name, weights in continued.items())

    # A checkpoint holds the whole adapter: the tuned model may be gone.
    for file in parent["files"]:
        del anneal.objects[f"{parent['id']}/{file['name']}"]
    resume(anneal)
    trainer = start_trainer(anneal.url, tmp_path / "third")
    assert trainer.exit_code() == 0, trainer.log
    again = load(anneal.content("model")[WEIGHTS])
    assert all(torch.equal(weights, continued[name]) for name, weights in again.items())
