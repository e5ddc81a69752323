"""LoRA adapters for llama.cpp: checked, written in its format (GGUF), and loaded beside the model."""

from __future__ import annotations

import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from anneal_runtime.server.adapter_checks import AdapterRefused
from anneal_runtime.server.adapter_files import read_factors
from anneal_runtime.server.llama_cpp.model import LlamaModel

if TYPE_CHECKING:
    from transformers import PretrainedConfig

# llama.cpp's names of the kinds of models whose layers are known here.
ARCHITECTURES = {"llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3"}
# llama.cpp keeps the outputs of their query and key layers in another order, that of its rotation of positions.
REORDERED = "llama"


class LlamaAdapter:
    """Frees its memory with its last use."""

    def __init__(self, model: LlamaModel, handle: int) -> None:
        self._model, self.handle = model, handle

    def __del__(self) -> None:
        self._model.leave_adapter(self.handle)


class LlamaAdapters:
    def __init__(self, model: LlamaModel, config: PretrainedConfig) -> None:
        self._model, self._config = model, config

    def read(self, name: str, folder: Path) -> LlamaAdapter:
        """From any thread. Raises AdapterRefused."""
        architecture = ARCHITECTURES.get(self._config.model_type)
        if architecture is None:
            raise AdapterRefused(
                f"The engine llama.cpp has no adapters for models of the type {self._config.model_type}."
            )
        layers = read_factors(folder, self._linears, lambda _linear: {"device": "cpu", "dtype": torch.float32})
        with tempfile.TemporaryDirectory(prefix="anneal-adapter-") as scratch:
            file = Path(scratch) / "adapter.gguf"
            self._write(file, architecture, layers)
            handle = self._model.load_adapter(file)
        if not handle:
            raise AdapterRefused(
                f"llama.cpp cannot load the adapter {name}: it changes a layer that the model's file lacks."
            )
        return LlamaAdapter(self._model, handle)

    @cached_property
    def _linears(self) -> dict[str, nn.Linear]:
        """The shapes of the model's linear layers, without weights."""
        from transformers import AutoModelForCausalLM

        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(self._config)
        return {name: layer for name, layer in model.named_modules() if isinstance(layer, nn.Linear)}

    def _write(self, file: Path, architecture: str, layers: dict[str, tuple[torch.Tensor, torch.Tensor]]) -> None:
        import gguf

        kind = next(number for number, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture)
        names = gguf.get_tensor_name_map(kind, self._config.num_hidden_layers)
        writer = gguf.GGUFWriter(file, architecture)
        writer.add_type("adapter")
        writer.add_string("adapter.type", "lora")
        # 0: the second factor is already scaled.
        writer.add_float32("adapter.lora.alpha", 0.0)
        for layer, (down, up) in layers.items():
            name = names.get_name(layer)
            if name is None:
                raise AdapterRefused(f"llama.cpp has no layer {layer[:200]}.")
            second = up.t()
            if architecture == REORDERED and layer.endswith(("q_proj", "k_proj")):
                second = self._reordered(second, layer)
            writer.add_tensor(f"{name}.weight.lora_a", down.t().contiguous().numpy())
            writer.add_tensor(f"{name}.weight.lora_b", second.contiguous().numpy())
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    def _reordered(self, weight: torch.Tensor, layer: str) -> torch.Tensor:
        """[out, r]: of each head, halves that were one after the other take turns."""
        config: Any = self._config
        heads = config.num_attention_heads if layer.endswith("q_proj") else config.num_key_value_heads
        return weight.view(heads, 2, -1, weight.shape[1]).transpose(1, 2).reshape(weight.shape)
