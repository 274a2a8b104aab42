"""CLEX for causal models of Hugging Face's Transformers that have rotary positions."""

from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from safetensors import safe_open
from torch import Tensor, nn

from synthlab.errors import InputError
from synthlab.huggingface.sparse_attention import name_arguments
from synthlab.models.encodings.base import Dims
from synthlab.models.encodings.clex import CLEX
from synthlab.models.language_model import token_positions
from synthlab.runs.registry import Registry

SAVED = ".rotary_emb.clex."  # part of the names of its weights


class CLEXRotaryEmbedding(nn.Module):
    """A replacement of a model's ``rotary_emb`` with the frequencies of ``CLEX``: one network for all layers.

    ``clex`` is CLEX of one head and one model, ``width`` the rotated dimensions of a head.
    """

    def __init__(self, clex: CLEX, width: int):
        super().__init__()
        self.clex, self.width = clex, width

    def forward(
        self, x: Float[Tensor, "B T D"], position_ids: Int[Tensor, "#B T"]
    ) -> tuple[Float[Tensor, "#B T width"], Float[Tensor, "#B T width"]]:
        """Return the cosine and the sine of each token's angles, in the type of ``x``.

        Raises InputError if all texts begin at later positions than 0, as after a cache.
        """
        if position_ids.min() > 0:
            raise InputError(
                f"position_ids: begin at {position_ids.min()}; must begin at 0, as the frequencies of CLEX depend on "
                f"the length of the text: give whole texts, with use_cache=False"
            )
        frequencies = self.clex.frequencies_at(position_ids[None], self.width)[0]
        angle = position_ids.double().unsqueeze(-1) * frequencies
        both = torch.cat((angle, angle), -1)
        return both.cos().to(x.dtype), both.sin().to(x.dtype)


def with_clex(
    model: Any,
    factor: int,
    trained: int | None = None,
    hidden: int = 1,
    steps: int = 8,
    seed: int = 0,
    weights: str | Path | None = None,
) -> Any:
    """Replace the frequencies of a causal model with rotary positions by the learned ones of ``CLEX``.

    They are learned only if training exceeds ``trained`` tokens: by longer texts, or by ``position_ids``, such as those
    of ``synthlab.positions.samplers.ClexPositions``. Untrained, they are those of NTK-aware interpolation by 2t - 1.
    ``save_pretrained`` saves the weights of CLEX with the others. ``from_pretrained`` makes the plain model; this
    function then loads them from the same folder, given as ``weights``.

    Args:
        model: Llama, Mistral, Qwen2, GPT-NeoX or another whose ``rotary_emb`` is plain RoPE. It is changed.
        factor: The largest length factor.
        trained: The training length in tokens; by default ``config.max_position_embeddings``.
        hidden: The hidden units of the network, in widths of the rotated part of a head.
        steps: The steps of integration from one whole length factor to the next.
        seed: The seed of the initial weights.
        weights: A folder of ``save_pretrained`` to load trained weights from.

    Returns:
        The same model. It uses no cache, since cached keys would be rotated for a shorter text.

    Raises:
        InputError: The model has no plain RoPE, a number is out of range, or the folder has no weights that fit.

    Example:
        >>> import torch
        >>> from synthlab.huggingface.clex import with_clex
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
        >>> config = LlamaConfig(vocab_size=11, **sizes, max_position_embeddings=64)
        >>> extended = with_clex(LlamaForCausalLM(config), factor=4)
        >>> [name for name, _ in extended.named_parameters() if "clex" in name]
        ['model.rotary_emb.clex.up', 'model.rotary_emb.clex.down']
        >>> extended(torch.arange(100)[None] % 11).logits.shape
        torch.Size([1, 100, 11])
    """
    body, config = model.base_model, model.config
    plain: Any = getattr(body, "rotary_emb", None)
    if getattr(plain, "rope_type", None) != "default":
        found = getattr(plain, "rope_type", type(plain).__name__)
        raise InputError(f"model={type(model).__name__}: has rotary_emb={found}; must be of type default, plain RoPE")
    width = 2 * len(plain.inv_freq)
    if width < 4:  # a single frequency would be both the highest, which is kept, and the lowest
        raise InputError(f"model={type(model).__name__}: rotates {width} dimensions of a head; CLEX needs 4 or more")
    registered = {
        "name": "clex",
        "base": float(config.rope_parameters["rope_theta"]),
        "factor": factor,
        "trained": config.max_position_embeddings if trained is None else trained,
        "hidden": hidden,
        "steps": steps,
    }
    clex = Registry("clex", CLEX, {"clex": CLEX}).build(registered, Dims(width, 1))
    clex.initialise([torch.Generator().manual_seed(seed)])
    if weights is not None:
        _load(clex, Path(weights))
    body.rotary_emb = CLEXRotaryEmbedding(clex, width).to(plain.inv_freq.device)
    model.register_forward_pre_hook(_count_tokens_alone, with_kwargs=True)
    config.use_cache = False
    if model.generation_config is not None:
        model.generation_config.use_cache = False
    return model


def _count_tokens_alone(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[()], dict[str, Any]]:
    """Give a call that has none positions without its padding, which Transformers would count too."""
    given = name_arguments(model, args, kwargs)
    mask = given.get("attention_mask")
    if given.get("position_ids") is None and mask is not None and mask.ndim == 2 and not mask.all():
        given["position_ids"] = token_positions(mask.bool())
    return (), given


def _load(clex: CLEX, folder: Path) -> None:
    """Load the weights in the safetensors files of a folder into CLEX."""
    found: dict[str, Tensor] = {}
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            names = [name for name in file.keys() if SAVED in name]  # noqa: SIM118  # it is no dictionary
            found |= {name.rpartition(".")[2]: file.get_tensor(name) for name in names}
    needed, given = ({name: list(values.shape) for name, values in each.items()} for each in (clex.state_dict(), found))
    if given != needed:
        raise InputError(f"weights={folder}: has {given} of CLEX; must have {needed}")
    clex.load_state_dict(found)
