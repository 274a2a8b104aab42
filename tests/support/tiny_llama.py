"""A random Llama of bytes for Transformers and EleutherAI's harness, which takes no time."""

from pathlib import Path
from typing import Any

import torch

SIZES = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}


def llama(vocabulary: int = 256, seed: int = 0, **config: Any) -> Any:
    """The model, without tokens that begin or end a text."""
    from transformers import LlamaConfig, LlamaForCausalLM

    given = {"max_position_embeddings": 4096, "bos_token_id": None, "eos_token_id": None, **SIZES, **config}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, **given)).eval()


def saved(folder: Path) -> Path:
    """Its folder, with the tokenizer of bytes."""
    from synthlab.huggingface.tokenizer import byte_tokenizer

    llama().save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder


def answering(model: Any, tokenizer: Any, answer: Any) -> Any:
    """The model, but it writes what ``answer`` gives for a prompt: so the road from generation to score is seen."""

    def generate(input_ids: Any, max_length: int, **_: Any) -> Any:
        prompt = tokenizer.decode(input_ids[0])
        written = tokenizer(answer(prompt), add_special_tokens=False)["input_ids"]
        return torch.tensor([[*input_ids[0].tolist(), *written][:max_length]])

    model.generate = generate
    return model
