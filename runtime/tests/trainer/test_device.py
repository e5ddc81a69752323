"""The steps of all methods on tensors that say to be on a GPU and hold nothing: a tensor that was left on the CPU shows
without a card. Backward passes need one.
"""

from collections.abc import Iterator
from dataclasses import fields, replace

import pytest
import torch
from support.training import USUAL_ARGS
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from transformers import LlamaConfig, LlamaForCausalLM

from anneal_runtime.row_sequences import labelled
from anneal_runtime.trainer.adapter import add_adapter
from anneal_runtime.trainer.answer_rows import Rewarded
from anneal_runtime.trainer.forward import ForwardPass, Microbatch
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.objectives.judged import Judged, JudgedStep
from anneal_runtime.trainer.objectives.objective import Step
from anneal_runtime.trainer.objectives.preference import Preference
from anneal_runtime.trainer.objectives.reference import ReferenceLogps, StartingModel
from anneal_runtime.trainer.objectives.reinforcement import Reinforcement, ReinforcementStep
from anneal_runtime.trainer.objectives.supervised import Supervised
from anneal_runtime.trainer.rows import EncodedRows

SHAPE = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1, "num_attention_heads": 4}


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTensorMode]:
    with FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv()) as mode:
        collated = ForwardPass.collate

        def collate(self: ForwardPass, rows: EncodedRows, indices: list[int]) -> Microbatch:
            """The rows are real, so a batch is moved once it is made."""
            with unset_fake_temporarily():
                own, self.device = self.device, torch.device("cpu")
                batch = collated(self, rows, indices)
                self.device = own
            tensors = {each.name: getattr(batch, each.name) for each in fields(batch)}
            moved = {name: mode.from_tensor(it).cuda() for name, it in tensors.items() if isinstance(it, torch.Tensor)}
            return replace(batch, **moved)

        monkeypatch.setattr(ForwardPass, "collate", collate)
        # Modules cannot exchange such tensors, and need not: all are made on the GPU.
        monkeypatch.setattr(torch.nn.Module, "_apply", lambda self, *_args, **_options: self)
        monkeypatch.setattr(torch.backends.cuda, "enable_cudnn_sdp", lambda _is_on: None)
        yield mode


def step_of(method: Method, forward: ForwardPass, start: StartingModel) -> Step:
    rows = Rewarded() if method.type == "reinforcement" else EncodedRows()
    answers = 2 if method.type in ("dpo", "reinforcement") else 1
    for number in range(2):
        rows.add(*(labelled(list(range(1, 12 + number + each)), 5) for each in range(answers)))
    reference = ReferenceLogps(start, forward, rows)
    reference.logps = torch.zeros(4)
    if method.type == "dpo":
        return Preference(forward, rows, method, reference).step([0, 1])
    if method.type == "kto":
        return JudgedStep(Judged(forward, rows, method, reference, is_good=[True, False], max_length=64), [0, 1], 0.0)
    if isinstance(rows, Rewarded):
        rows.rewards, rows.ended = [[0.0, 1.0], [1.0, 0.0]], [True] * 4
        objective = Reinforcement(forward, rows, method, start)
        # As they are read from a record, and as the model at the start gives them.
        objective.old = {each: torch.zeros(rows.label_count(each), device="cuda") for each in range(4)}
        objective.at_start = dict(objective.old)
        with unset_fake_temporarily():
            return ReinforcementStep(objective, [0, 1])
    return Supervised(forward, rows).step([0, 1])


@pytest.mark.parametrize("line_tokens", [None, 512])
@pytest.mark.parametrize("name", ["supervised", "dpo", "kto", "reinforcement"])
@pytest.mark.usefixtures("gpu")
def test_a_step_leaves_no_tensor_on_the_cpu(name: str, line_tokens: int | None) -> None:
    with torch.device("cuda"):
        base = LlamaForCausalLM(LlamaConfig(vocab_size=128, num_key_value_heads=2, **SHAPE))
        model = add_adapter(base, replace(USUAL_ARGS, r_value=8), lambda *_: None)
    forward = ForwardPass(model, line_tokens=line_tokens)
    knobs = {"kl_coefficient": 0.1} if name == "reinforcement" else {}
    start = StartingModel.__new__(StartingModel)
    step = step_of(Method.from_json({"type": name, name: {"hyperparameters": knobs}}), forward, start)
    sums = step.sums(step.units)
    assert sums is not None and sums.loss.device.type == sums.series.device.type == "cuda"
