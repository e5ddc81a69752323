"""Adapters side by side in one product give what a product for each adapter gives."""

import torch
from torch import nn

from anneal_runtime.server.decoding.adapter_stack import MOST_PADDING, STEADY_PASSES, STEADY_PASSES_WITHIN, Stacks
from anneal_runtime.server.decoding.lora import Adapter, AdapterRouter

SIZE, OUT = 8, 6


def make_adapter(name: str, rank: int, *layers: str) -> Adapter:
    return Adapter(name, {layer: (torch.randn(SIZE, rank), torch.randn(rank, OUT)) for layer in layers})


def run(router: AdapterRouter, model: nn.Module, inputs: torch.Tensor, adapters: list[Adapter | None]) -> torch.Tensor:
    with torch.inference_mode(), router.routing(adapters):
        return torch.cat([layer(inputs) for layer in model.children()], dim=-1)


def expected(model: nn.Module, inputs: torch.Tensor, adapters: list[Adapter | None]) -> torch.Tensor:
    outputs = []
    for name, layer in model.named_children():
        output = layer(inputs)
        for row, adapter in enumerate(adapters):
            if adapter is not None and name in adapter.layers:
                down, up = adapter.layers[name]
                output[row] += inputs[row] @ down @ up
        outputs.append(output)
    return torch.cat(outputs, dim=-1)


@torch.inference_mode()
def test_stacked_adapters_change_the_rows_as_each_does_alone() -> None:
    torch.manual_seed(1)
    model = nn.ModuleDict({"a": nn.Linear(SIZE, OUT), "b": nn.Linear(SIZE, OUT)})
    router = AdapterRouter(model)
    one, two, three = make_adapter("1", 4, "a", "b"), make_adapter("2", 2, "a"), make_adapter("3", 3, "b")
    for adapter in (one, two, three):
        router.prepare(adapter)
    mixes: list[list[Adapter | None]] = [
        [one, two, three],
        [three, None, one, two, one, three],
        # Fewer adapters than are stacked, and one with most of the rows.
        [two, one, three, two],
        [one] * (4 * MOST_PADDING) + [two, three],
        [None, None],
        [two],
    ]
    for adapters in mixes:
        for _ in range(STEADY_PASSES + 1):
            inputs = torch.randn(len(adapters), 2, SIZE)
            wanted = expected(model, inputs, adapters)
            torch.testing.assert_close(run(router, model, inputs, adapters), wanted)
    assert router._stacks.place({one: [0], two: [1], three: [2]}, 3) is not None
    assert router._stacks.place({one: [0], two: [1]}, 2) is None


def test_a_few_adapters_of_a_large_stack_get_one_of_their_own() -> None:
    adapters = [make_adapter(str(n), 2, "a") for n in range(8)]
    stacks = Stacks(torch.device("cpu"))
    rows_of = {adapter: [row] for row, adapter in enumerate(adapters)}
    few = dict(list(rows_of.items())[:3])
    for _ in range(STEADY_PASSES):
        placed = stacks.place(rows_of, 8)
    assert placed is not None and len(placed.stack.adapters) == 8
    for _ in range(STEADY_PASSES_WITHIN - 1):
        assert stacks.place(few, 3) is None
    # The others come back for a pass.
    assert stacks.place(rows_of, 8) is not None
    assert stacks.place(few, 3) is None
    for _ in range(STEADY_PASSES_WITHIN - 1):
        placed = stacks.place(few, 3)
    assert placed is not None and set(placed.stack.adapters) == set(few)
