"""Backward passes on a GPU use kernels that repeat. That they do is shown by `python bench/gpu resumes`."""

from dataclasses import replace

import pytest
import torch
from support.trainer_process import TINY
from support.training import USUAL_ARGS

from anneal_runtime.model_source import is_out_of_memory, load_causal_lm
from anneal_runtime.row_sequences import labelled
from anneal_runtime.trainer.adapter import add_adapter, trainable
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.objectives.supervised import Supervised
from anneal_runtime.trainer.repeatable import Repeatable, avoid_cudnn_attention
from anneal_runtime.trainer.rows import EncodedRows
from anneal_runtime.trainer.step import OptimizerStep
from anneal_runtime.trainer.training_args import make_optimizer

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)


class Trained:
    """A step on a CPU that believes to be on the device."""

    def __init__(self, device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
        # The constructor of Repeatable sets these two for the whole process.
        monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        monkeypatch.setattr(torch.utils.deterministic, "fill_uninitialized_memory", True)
        model = add_adapter(load_causal_lm(TINY, CPU).model, replace(USUAL_ARGS, r_value=8), lambda *_: None)
        self.parameters = list(trainable(model).values())
        rows = EncodedRows()
        rows.add(labelled(list(range(1, 30)), 10))
        optimizer = make_optimizer(USUAL_ARGS, self.parameters, lambda *_: None)
        self._step = OptimizerStep(Supervised(ForwardPass(model), rows), optimizer, token_budget=400, max_grad_norm=1.0)
        self._step.repeatable = Repeatable(device)

    def run(self) -> list[torch.Tensor]:
        self._step.run([0], 1e-3)
        return [parameter.detach().clone() for parameter in self.parameters]


@pytest.mark.parametrize(("device", "expected"), [(CPU, False), (GPU, True)])
def test_gradients_alone_are_computed_by_repeatable_kernels(
    device: torch.device, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained, seen = Trained(device, monkeypatch), set[bool]()

    def look(_gradient: torch.Tensor) -> None:
        seen.add(torch.are_deterministic_algorithms_enabled())

    trained.parameters[1].register_hook(look)
    trained.run()
    assert seen == {expected} and not torch.are_deterministic_algorithms_enabled()


def test_a_model_without_repeatable_kernels_is_trained_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Trained(CPU, monkeypatch).run()
    trained = Trained(GPU, monkeypatch)

    def refuse(_gradient: torch.Tensor) -> None:
        if torch.are_deterministic_algorithms_enabled():
            raise RuntimeError("cumsum_cuda_kernel does not have a deterministic implementation, but you set")

    trained.parameters[-1].register_hook(refuse)
    assert all(map(torch.equal, trained.run(), expected))


def test_cudnn_attention_is_left_out_on_a_gpu_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[bool] = []
    monkeypatch.setattr(torch.backends.cuda, "enable_cudnn_sdp", said.append)
    avoid_cudnn_attention(CPU)
    assert said == []
    avoid_cudnn_attention(GPU)
    assert said == [False]


def test_a_full_gpu_is_out_of_memory_whoever_says_so() -> None:
    for text in (
        "CUDA error: out of memory",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    ):
        assert is_out_of_memory(RuntimeError(text))
    assert not is_out_of_memory(RuntimeError("CUDA error: an illegal memory access was encountered"))
