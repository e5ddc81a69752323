"""Linear layers with packed weights: they answer as before, and only large layers are packed."""

import pytest
import torch
from torch import nn

from anneal_runtime.server.decoding import packed_linear
from anneal_runtime.server.decoding.packed_linear import PackedLinear, pack, place_of
from anneal_runtime.server.decoding.products import MOST_INT8_ROWS, is_supported


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
    assert [type(layer) is PackedLinear for layer in (model.large, model.small, model.head)] == [True, False, True]
    assert torch.equal(model.embedding.weight, model.head.weight)
    torch.testing.assert_close(model.large(inputs), expected, rtol=1e-4, atol=1e-4)
    assert model.large(inputs[:0]).shape == (0, 2, 1024)
    assert torch.equal(model.large.weight, weight)
    assert place_of(model.large) == place_of(model.small) == {"device": torch.device("cpu"), "dtype": dtype}


@pytest.mark.skipif(not is_supported(), reason="this processor has no packed products")
def test_a_large_weight_that_another_layer_shares_is_not_held_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_linear, "MOST_SHARED_BYTES", 1 << 20)
    model = Model()
    pack(model)
    assert type(model.head) is nn.Linear


@torch.inference_mode()
def test_weights_of_eight_bits_answer_nearly_as_before_and_alike_for_few_and_many_rows() -> None:
    torch.manual_seed(0)
    model = Model().to(torch.bfloat16)
    inputs = torch.randn(2 * MOST_INT8_ROWS, 1, 512, dtype=torch.bfloat16)
    weight, expected = model.large.weight.float(), model.large(inputs).float()
    pack(model, is_int8=True)
    rounding = weight.abs().amax(dim=1, keepdim=True) / 127
    # Half a step of 8 bits, and the rounding of bfloat16.
    assert ((model.large.weight.float() - weight).abs() <= 0.5 * rounding + 2**-8 * weight.abs()).all()
    many = model.large(inputs).float()
    few = torch.cat([model.large(inputs[:MOST_INT8_ROWS]), model.large(inputs[MOST_INT8_ROWS:])]).float()
    torch.testing.assert_close(few, many, rtol=2e-2, atol=2e-2)
    torch.testing.assert_close(many, expected, rtol=5e-2, atol=5e-2)
    assert place_of(model.large)["dtype"] == torch.bfloat16


@pytest.mark.skipif(not is_supported(), reason="this processor has no packed products")
def test_layers_of_middle_size_are_packed_only_in_a_model_that_embeds_texts() -> None:
    model = nn.Sequential(nn.Linear(384, 384))
    pack(model)
    assert type(model[0]) is nn.Linear
    pack(model, for_texts=True)
    assert type(model[0]) is PackedLinear
