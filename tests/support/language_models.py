"""Tiny causal models of Transformers with random weights. Transformers is imported when one is asked for."""

import importlib
from pathlib import Path
from typing import Any

import torch

from support import hf

VOCABULARY, LENGTH, WIDTH = 28, 16, 64  # 4-bit weights have blocks of 64
LEAST = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
KINDS = ("Llama", "Mistral", "Qwen2", "GPTNeoX")


def tiny(kind: str = "Llama", scale: float = 1.0, layers: int = 2, **parameters: Any) -> Any:
    """A model of two layers and ``LENGTH`` positions; ``scale`` multiplies its matrices, as drawn its logits hardly
    depend on positions. ``parameters`` are added to its ``rope_parameters``. GPT2 has learned positions and dropout."""
    torch.manual_seed(0)
    neox = kind == "GPTNeoX"
    rope = {"rope_type": "default", "rope_theta": 10_000.0} | ({"partial_rotary_factor": 0.5} if neox else {})
    sizes = {
        "hidden_size": WIDTH,
        "intermediate_size": 2 * WIDTH,
        "num_hidden_layers": layers,
        "num_attention_heads": 2,
    }
    sizes |= {"max_position_embeddings": LENGTH} | ({} if neox else {"num_key_value_heads": 1})
    shared = {"vocab_size": VOCABULARY, "bos_token_id": 0, "eos_token_id": 0}
    if kind == "GPT2":
        config = hf.transformers.GPT2Config(n_embd=16, n_layer=2, n_head=2, n_positions=64, **parameters, **shared)
        model = hf.transformers.GPT2LMHeadModel(config)
    else:
        config = getattr(hf.transformers, f"{kind}Config")(rope_parameters=rope | parameters, **shared, **sizes)
        model = getattr(hf.transformers, f"{kind}ForCausalLM")(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(scale)
    return model


def pretrained(folder: Path, **parameters: Any) -> str:
    """A folder with such a model and a tokenizer of single letters."""
    tokenizers = importlib.import_module("tokenizers")
    letters = {letter: number for number, letter in enumerate(["</s>", *"abcdefghijklmnopqrstuvwxyz", " "])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(letters, unk_token="</s>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    hf.transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>").save_pretrained(folder)
    tiny(**parameters).save_pretrained(folder)
    return str(folder)


def texts(rows: int, length: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(seed))


def labelled(tokens: torch.Tensor) -> list[dict[str, Any]]:
    """What a Trainer takes for a dataset."""
    return [{"input_ids": text, "labels": text} for text in tokens]


def trainer(
    folder: Path, model: Any, data: Any, alignment: Any = None, collator: Any = None, evaluated: Any = None, **more: Any
) -> Any:
    """A Trainer of three steps of plain gradient descent; an AlignedTrainer where it has an alignment."""
    quick = {"max_steps": 3, "per_device_train_batch_size": 4, "learning_rate": 0.1, "optim": "sgd", "logging_steps": 1}
    quiet = {"report_to": [], "disable_tqdm": True, "use_cpu": True, "save_strategy": "no"}
    args = hf.transformers.TrainingArguments(str(folder), **quick | quiet | {"dataloader_pin_memory": False} | more)
    kind, given = hf.transformers.Trainer, {"train_dataset": data, "eval_dataset": evaluated}
    if alignment is not None:
        kind, given = hf.aligned_trainer.AlignedTrainer, given | {"alignment": alignment}
    if collator is not None:
        given |= {"data_collator": collator, "callbacks": [collator]}
    return kind(model, args, **given)


def logged(trained: Any, name: str) -> list[float]:
    return [line[name] for line in trained.state.log_history if name in line]


def llama(vocabulary: int = 256, seed: int = 0, **config: Any) -> Any:
    """A random Llama of bytes which takes no time, without tokens that begin or end a text."""
    given = {"max_position_embeddings": 4096, "bos_token_id": None, "eos_token_id": None, **LEAST, **config}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return hf.transformers.LlamaForCausalLM(hf.transformers.LlamaConfig(vocab_size=vocabulary, **given)).eval()


def saved(folder: Path) -> Path:
    llama().save_pretrained(folder)
    hf.bridge.byte_tokenizer().save_pretrained(folder)
    return folder


def answering(model: Any, tokenizer: Any, answer: Any) -> Any:
    """The model, but it writes what ``answer`` gives for a prompt: so the road from generation to score is seen."""

    def generate(input_ids: Any, max_length: int, **_: Any) -> Any:
        prompt = tokenizer.decode(input_ids[0])
        written = tokenizer(answer(prompt), add_special_tokens=False)["input_ids"]
        return torch.tensor([[*input_ids[0].tolist(), *written][:max_length]])

    model.generate = generate
    return model
