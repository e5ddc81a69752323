"""Linear layers with packed weights: they answer as before, and only large layers that share no weights are packed."""

import pytest
import torch
from torch import nn

from anneal_runtime.server.decoding.packed_linear import PackedLinear, is_supported, pack, place_of


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1024, 512)
        self.large, self.small = nn.Linear(512, 1024), nn.Linear(1024, 64)
        self.head = nn.Linear(512, 1024, bias=False)
        self.head.weight = self.embedding.weight


@pytest.mark.skipif(not is_supported(), reason="this processor has no packed products")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@torch.inference_mode()
def test_large_layers_are_packed_and_answer_as_before(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    model = Model().to(dtype)
    inputs = torch.randn(8, 2, 512, dtype=dtype)
    weight, expected = model.large.weight.clone(), model.large(inputs)
    pack(model)
    assert [type(layer) is PackedLinear for layer in (model.large, model.small, model.head)] == [True, False, False]
    torch.testing.assert_close(model.large(inputs), expected, rtol=1e-4, atol=1e-4)
    assert model.large(inputs[:0]).shape == (0, 2, 1024)
    assert torch.equal(model.large.weight, weight)
    assert place_of(model.large) == place_of(model.small) == {"device": torch.device("cpu"), "dtype": dtype}


@pytest.mark.skipif(not is_supported(), reason="this processor has no packed products")
def test_layers_of_middle_size_are_packed_only_in_a_model_that_embeds_texts() -> None:
    model = nn.Sequential(nn.Linear(384, 384))
    pack(model)
    assert type(model[0]) is nn.Linear
    pack(model, for_texts=True)
    assert type(model[0]) is PackedLinear
