"""Low-rank adapters, also on a 4-bit base (QLoRA), for causal models of Hugging Face's Transformers.

Needs the extra ``extend``. No other module of the library imports this one, so that the rest works without peft.
"""

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import nn

from synthlab.errors import InputError, describe_missing, require
from synthlab.finetuning.adapters import BLOCK
from synthlab.huggingface.loading import silence

try:
    import peft  # pyright: ignore[reportMissingImports]  # of the extra extend
    from transformers import BitsAndBytesConfig  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise ImportError(describe_missing("synthlab.huggingface.lora", "peft", "extend")) from error

LINEAR = "all-linear"  # peft's name for every linear layer but the head


def four_bits(dtype: torch.dtype) -> BitsAndBytesConfig:
    """Return the ``quantization_config`` of ``from_pretrained`` for a base of QLoRA (arXiv 2305.14314, section 3).

    The weights of all linear layers but the head are 4-bit NormalFloat with quantized scales; computation is in
    ``dtype``. Raises InputError if bitsandbytes is not installed.
    """
    require("extend", "bitsandbytes", what="adapters.base=nf4")
    scales = {"bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True}
    return BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=dtype, **scales)


def with_lora(
    model: Any,
    rank: int = 64,
    alpha: float = 16.0,
    dropout: float = 0.05,
    layers: str | Sequence[str] = LINEAR,
    train: Sequence[str] = (),
    seed: int = 0,
) -> Any:
    """Add low-rank adapters to a causal model, and freeze the rest: W becomes W + (alpha / rank) B A.

    B is 0 at first, so that training begins at the unchanged model. The defaults are those of LongQLoRA (Yang, 2023,
    arXiv 2311.04879, and the authors' ``train_args``). Its other parts are available separately: ``four_bits``,
    position interpolation as a setting of Transformers (``rope_parameters``), its attention as ``sparse_in_training``.
    The weights of ``with_clex`` are always trained.

    Args:
        model: A causal model of Transformers. Its layers are replaced.
        rank: The rank of the change of each weight.
        alpha: Changes are multiplied by alpha / rank.
        dropout: The share of an adapter's inputs that training drops.
        layers: ``all-linear`` for all linear layers but the head, or ends of their names, such as ``q_proj``.
        train: The parts that are trained directly, in 32 bits: ``embeddings``, ``norms``.
        seed: The seed of the initial weights A, which are drawn as peft draws them. The global generator is restored.

    Returns:
        A ``peft.PeftModel``. Its ``save_pretrained`` saves only the adapters; ``merged`` makes one model of both.

    Raises:
        InputError: No layer has such a name, or the model is in 4 bits and on the CPU, where bitsandbytes cannot handle
            layers whose inputs are no multiple of 64.

    Example:
        >>> from synthlab.huggingface.lora import merged, with_lora
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
        >>> model = with_lora(LlamaForCausalLM(LlamaConfig(vocab_size=11, **sizes)), rank=2, layers=["q_proj"])
        >>> [tuple(each.shape) for each in model.parameters() if each.requires_grad]
        [(2, 16), (16, 2)]
        >>> type(merged(model)).__name__
        'LlamaForCausalLM'
    """
    named = layers if isinstance(layers, str) else list(layers)
    _check_layers(model, named)
    config = peft.LoraConfig(
        task_type="CAUSAL_LM",
        r=rank,
        lora_alpha=cast(Any, alpha),  # peft accepts any number
        lora_dropout=dropout,
        target_modules=named,
        modules_to_save=_list_fully_trained(model, train) or None,
    )
    adapted = _add_adapters(model, config, seed)
    for parameter in adapted.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    return adapted


def merged(model: Any) -> Any:
    """Return one plain model, made of a model and its adapters.

    A 4-bit base first becomes ordinary weights with the values that it has in training, since peft itself would round
    the sum to 4 bits again.

    Args:
        model: A model from ``with_lora``, whose layers are replaced, or a saved one that peft opened.

    Returns:
        The base model, with the weights W + (alpha / rank) B A.
    """
    if getattr(model.get_base_model(), "is_loaded_in_4bit", False):
        config, state = model.peft_config[model.active_adapter], peft.get_peft_model_state_dict(model)
        model = _add_adapters(model.unload().dequantize(), config)  # new adapters, which get the trained values
        peft.set_peft_model_state_dict(model, state)
    return model.merge_and_unload()


def _add_adapters(model: Any, config: Any, seed: int = 0) -> Any:
    with silence(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return peft.get_peft_model(model, config)


def _check_layers(model: Any, layers: str | list[str]) -> None:
    linear = {name: each for name, each in model.named_modules() if isinstance(each, nn.Linear)}
    ends = [] if isinstance(layers, str) else layers
    if unknown := [end for end in ends if not any(f".{name}".endswith(f".{end}") for name in linear)]:
        names = {name.rpartition(".")[2] for name in linear}
        allowed = f"must be {LINEAR} or names of linear layers: {', '.join(sorted(names))}"
        raise InputError(f"adapters.layers={','.join(unknown)}: {allowed}")
    for name, each in linear.items():
        if type(each).__name__ != "Linear4bit":
            continue
        if each.weight.device.type == "cpu" and each.in_features % BLOCK:
            # On the CPU, bitsandbytes 0.50.2 dequantizes some of these wrongly, such as rows of 32 or 96.
            raise InputError(
                f"adapters.base=nf4: {name} has {each.in_features} inputs; must be a multiple of {BLOCK} on the CPU"
            )
        # Otherwise it repacks the weights of a model in evaluation for some processors, and does not unpack them for
        # training.
        cast(Any, each).support_avx512bf16_for_cpu = False


def _list_fully_trained(model: Any, train: Sequence[str]) -> list[str]:
    """Return the names of the modules that are trained without an adapter: those of ``train``, and CLEX."""
    kinds = {each: name for name, each in model.named_modules()}
    names = [kinds[model.get_input_embeddings()]] if "embeddings" in train else []
    if "norms" in train:
        names += [name for name, each in model.named_modules() if type(each).__name__.endswith("Norm")]
    return names + [name.removesuffix(".clex") for name, _ in model.named_modules() if name.endswith("rotary_emb.clex")]
