"""Low-rank adapters on a 4-bit base (QLoRA) for causal models of Hugging Face's Transformers.

Needs the extra ``extend``. No other module of the library imports this one, so that the rest works without peft.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any, Literal, cast

import torch
from pydantic import Field, PositiveFloat
from torch import nn

from synthlab.config.base import Count
from synthlab.config.registry import Registry
from synthlab.errors import InputError, describe_missing, require
from synthlab.finetuning.adapters import Others
from synthlab.finetuning.quantization import BLOCK

try:
    import peft  # pyright: ignore[reportMissingImports]  # of the extra extend
except ImportError as error:
    raise ImportError(describe_missing("synthlab.huggingface.lora", "peft", "extend")) from error

LINEAR = "all-linear"  # peft's name for every linear layer but the head


class Adapters:
    """The settings of ``with_lora``; ``conf/adapters/lora.yaml`` describes each."""

    def __init__(
        self,
        rank: Count,
        alpha: PositiveFloat,
        dropout: Annotated[float, Field(ge=0, lt=1)],
        layers: Literal["all-linear"] | Annotated[list[str], Field(min_length=1)],
        train: list[Others],
        base: Literal["full", "nf4"],
    ):
        self.rank, self.alpha, self.dropout = rank, alpha, dropout
        self.layers, self.train, self.base = layers, train, base


ADAPTERS = Registry("adapters", Adapters, {"lora": Adapters})


def with_lora(
    model: Any,
    rank: int = 64,
    alpha: float = 16.0,
    dropout: float = 0.05,
    layers: str | Sequence[str] = LINEAR,
    train: Sequence[str] = (),
    base: str = "full",
    seed: int = 0,
) -> Any:
    """Add low-rank adapters to a causal model, and freeze the rest: W becomes W + (alpha / rank) B A.

    B is 0 at first, so that training begins at the unchanged model. The defaults are those of LongQLoRA (Yang, 2023,
    arXiv 2311.04879, and the authors' ``train_args``) except ``base``. Its other parts are available separately:
    position interpolation is a setting of Transformers (``rope_parameters``), its attention ``sparse_in_training``. The
    weights of ``with_clex`` are always trained.

    Args:
        model: A causal model of Transformers. Its layers are replaced. One loaded in 4 bits keeps its base.
        rank: The rank of the change of each weight.
        alpha: Changes are multiplied by alpha / rank.
        dropout: The share of an adapter's inputs that training drops.
        layers: ``all-linear`` for all linear layers but the head, or ends of their names, such as ``q_proj``.
        train: The parts that are trained directly, in 32 bits: ``embeddings``, ``norms``.
        base: ``nf4`` keeps the weights of all linear layers but the head in 4-bit NormalFloat, with quantized scales
            (QLoRA, arXiv 2305.14314, section 3); ``full`` leaves them unchanged. Computation is in the model's type.
        seed: The seed of the initial weights A, which are drawn as peft draws them. The global generator is restored.

    Returns:
        A ``peft.PeftModel``. Its ``save_pretrained`` saves only the adapters; ``merged`` makes one model of both.

    Raises:
        InputError: A setting is wrong, no layer has such a name, or bitsandbytes is missing or cannot handle a layer:
            on the CPU those whose inputs are no multiple of 64.

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
    named = list(layers) if not isinstance(layers, str) else layers
    given = {"rank": rank, "alpha": alpha, "dropout": dropout, "layers": named, "train": list(train), "base": base}
    settings = ADAPTERS.build({"name": "lora", **given})
    if isinstance(named, list):
        _check_layers(model, named)
    kept = _list_fully_trained(model, settings.train)
    loaded = getattr(model, "is_loaded_in_4bit", False)
    if settings.base == "nf4" and not loaded:
        _quantize(model)
    config = peft.LoraConfig(
        task_type="CAUSAL_LM",
        r=settings.rank,
        lora_alpha=cast(Any, settings.alpha),  # peft accepts any number
        lora_dropout=settings.dropout,
        target_modules=named,
        modules_to_save=kept or None,
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
        with _ignore_peft_warnings():
            model = _add_adapters(_dequantize(model.unload()), config)  # new adapters, which get the trained values
            peft.set_peft_model_state_dict(model, state)
    return model.merge_and_unload()


def _add_adapters(model: Any, config: Any, seed: int = 0) -> Any:
    with _ignore_peft_warnings(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return peft.get_peft_model(model, config)


def _linear_layers(model: Any) -> dict[str, nn.Linear]:
    """Return the layers of peft's ``all-linear`` by name: all but the head."""
    head = model.get_output_embeddings()
    found = {name: each for name, each in model.named_modules() if isinstance(each, nn.Linear) and each is not head}
    # Only a safeguard: CLEX has no linear layers, which must not be quantized.
    return {name: each for name, each in found.items() if ".rotary_emb." not in name}


def _check_layers(model: Any, layers: list[str]) -> None:
    linear = [name for name, each in model.named_modules() if isinstance(each, nn.Linear)]
    if unknown := [end for end in layers if not any(f".{name}".endswith(f".{end}") for name in linear)]:
        names = {name.rpartition(".")[2] for name in linear}
        allowed = f"must be {LINEAR} or names of linear layers: {', '.join(sorted(names))}"
        raise InputError(f"adapters.layers={','.join(unknown)}: {allowed}")


def _list_fully_trained(model: Any, train: Sequence[str]) -> list[str]:
    """Return the names of the modules that are trained without an adapter: those of ``train``, and CLEX."""
    kinds = {each: name for name, each in model.named_modules()}
    names = [kinds[model.get_input_embeddings()]] if "embeddings" in train else []
    if "norms" in train:
        names += [name for name, each in model.named_modules() if type(each).__name__.endswith("Norm")]
    return names + [name.removesuffix(".clex") for name, _ in model.named_modules() if name.endswith("rotary_emb.clex")]


def _quantize(model: Any) -> None:
    bnb = _bitsandbytes()
    for name, layer in _linear_layers(model).items():
        weight, bias = layer.weight, layer.bias
        if weight.device.type == "cpu" and layer.in_features % BLOCK:
            # On the CPU, bitsandbytes 0.50.2 dequantizes some of these wrongly, such as rows of 32 or 96.
            raise InputError(
                f"adapters.base=nf4: {name} has {layer.in_features} inputs; must be a multiple of {BLOCK} on the CPU"
            )
        new = bnb.nn.Linear4bit(layer.in_features, layer.out_features, bias is not None, weight.dtype, device="meta")
        packed = bnb.nn.Params4bit(weight.data, requires_grad=False, quant_type="nf4", module=new)
        new.weight, new.bias = packed.to(weight.device), bias
        # Otherwise it repacks the weights of a model in evaluation for some processors, and does not unpack them for
        # training.
        new.support_avx512bf16_for_cpu = False
        model.set_submodule(name, new)
    model.is_loaded_in_4bit = True  # peft chooses its layers by this attribute


def _bitsandbytes() -> Any:
    require("extend", "bitsandbytes", what="adapters.base=nf4")
    return import_module("bitsandbytes")


def _dequantize(model: Any) -> Any:
    bnb = _bitsandbytes()
    for name, layer in list(model.named_modules()):
        if isinstance(layer, bnb.nn.Linear4bit):
            packed = cast(Any, layer.weight)
            weight = bnb.functional.dequantize_4bit(packed.data, packed.quant_state)
            plain = nn.Linear(layer.in_features, layer.out_features, layer.bias is not None, device="meta")
            plain.weight, plain.bias = nn.Parameter(weight), layer.bias
            model.set_submodule(name, plain)
    model.is_loaded_in_4bit = False
    # The config of a model loaded in 4 bits says so, and the saved model would be opened as such.
    for owner, name in ((model, "hf_quantizer"), (model, "quantization_method"), (model.config, "quantization_config")):
        if hasattr(owner, name):
            delattr(owner, name)
    return model


@contextmanager
def _ignore_peft_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        # peft 0.21.2 asks Transformers 5.23 for an attribute that was renamed there.
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing` is deprecated", FutureWarning)
        yield


__all__ = ["ADAPTERS", "Adapters", "merged", "with_lora"]
