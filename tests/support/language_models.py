"""Tiny causal models of Transformers with random weights. Transformers is imported when one is asked for."""

import importlib
from pathlib import Path
from typing import Any

import torch

VOCABULARY, LENGTH, WIDTH = 28, 16, 64  # 4-bit weights have blocks of 64
KINDS = ("Llama", "Mistral", "Qwen2", "GPTNeoX")


def tiny(kind: str = "Llama", scale: float = 1.0, **parameters: Any) -> Any:
    """A model of two layers and ``LENGTH`` positions; ``scale`` multiplies its matrices, as drawn its logits hardly
    depend on positions. ``parameters`` are added to its ``rope_parameters``."""
    transformers = importlib.import_module("transformers")
    torch.manual_seed(0)
    neox = kind == "GPTNeoX"
    rope = {"rope_type": "default", "rope_theta": 10_000.0} | ({"partial_rotary_factor": 0.5} if neox else {})
    sizes = {"hidden_size": WIDTH, "intermediate_size": 2 * WIDTH, "num_hidden_layers": 2, "num_attention_heads": 2}
    sizes |= {} if neox else {"num_key_value_heads": 2}
    shared = {"vocab_size": VOCABULARY, "max_position_embeddings": LENGTH, "bos_token_id": 0, "eos_token_id": 0}
    config = getattr(transformers, f"{kind}Config")(rope_parameters=rope | parameters, **shared, **sizes)
    model = getattr(transformers, f"{kind}ForCausalLM")(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(scale)
    return model


def pretrained(folder: Path, kind: str = "Llama") -> str:
    """A folder with such a model and a tokenizer of single letters."""
    tokenizers, transformers = (importlib.import_module(name) for name in ("tokenizers", "transformers"))
    letters = {letter: number for number, letter in enumerate(["</s>", *"abcdefghijklmnopqrstuvwxyz", " "])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(letters, unk_token="</s>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>").save_pretrained(folder)
    tiny(kind).save_pretrained(folder)
    return str(folder)


def texts(rows: int, length: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(seed))
