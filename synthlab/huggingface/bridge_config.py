"""The config of the lab's language models in Hugging Face's Transformers, and the allowed keys of a saved one.

Needs the extra ``lm``.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, create_model

from synthlab.config.registry import STRICT, validate
from synthlab.errors import InputError, describe_missing

try:
    from transformers import PreTrainedConfig  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise ImportError(describe_missing("synthlab.huggingface.bridge_config", "transformers", "lm")) from error

SIZES = ("width", "depth", "heads", "mlp_ratio", "norm", "attention", "init_scale")  # the keys of conf/model

# Any: the lab's registries check it when a model is made. Transformers' Trainer adds the tokens of its tokenizer.
_FIELDS: dict[str, Any] = {
    "model_type": (Literal["synthlab"], ...),
    **dict.fromkeys(("vocab_size", "encoding", *SIZES), (Any, None)),
    "max_position_embeddings": (Annotated[int | None, Field(ge=1)], None),
    "use_cache": (bool, True),
    "dtype": (Literal["float32", "float64", "float16", "bfloat16"] | None, None),
    "architectures": (list[str] | None, None),
    "transformers_version": (str | None, None),
    **dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"), (Annotated[int | None, Field(ge=0)], None)),
}
SAVED = create_model("SAVED", __config__=STRICT, **_FIELDS)


class SynthlabConfig(PreTrainedConfig):
    """The architecture of a language model of the lab: the keys of ``conf/model``, and its encoding with its arguments.

    Attributes:
        encoding: The mapping that the registry of encodings takes; of a run with an extension, the extension.
        max_position_embeddings: The longest context that the run was tested on, in tokens. The model takes longer ones
            unless its encoding has a table.
    """

    # The lab's registries check types and bounds when a model is made from it.
    model_type = "synthlab"
    keys_to_ignore_at_inference: ClassVar[list[str]] = ["past_key_values"]
    attribute_map: ClassVar[dict[str, str]] = {
        "hidden_size": "width",
        "num_hidden_layers": "depth",
        "num_attention_heads": "heads",
    }
    vocab_size: Any = None
    encoding: Any = None
    width: Any = None
    depth: Any = None
    heads: Any = None
    mlp_ratio: Any = None
    norm: Any = None
    attention: Any = None
    init_scale: Any = None
    max_position_embeddings: Any = None
    use_cache: bool = True

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """Return the config in a folder's ``config.json``.

        Arguments are those of Transformers, which are not checked here.

        Raises:
            InputError: It has a key that the lab does not write, or a value of a wrong type. Some of Transformers' own
                keys fetch code, such as ``attn_implementation`` and ``quantization_config``.
        """
        try:
            validate(SAVED, config_dict, "config")
        except InputError as error:
            raise InputError(" ".join(error.lines[0].split())) from None
        return super().from_dict(config_dict, **kwargs)


__all__ = ["SIZES", "SynthlabConfig"]
