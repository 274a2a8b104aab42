"""The tokenizer of ``task=text`` for Hugging Face's Transformers: bytes. Needs the extra ``lm``."""

from synthlab.errors import describe_missing

try:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # pyright: ignore[reportMissingImports]
    from transformers import PreTrainedTokenizerFast  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise ImportError(describe_missing("synthlab.huggingface.tokenizer", "transformers", "lm")) from error


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """Return the tokenizer of models of ``task=text``: each byte of a text, in UTF-8, is a token.

    Returns:
        A tokenizer of 256 tokens. Its padding, on the left, is a token beyond them, which the attention mask excludes.

    Example:
        >>> from synthlab.huggingface.tokenizer import byte_tokenizer
        >>> byte_tokenizer()("Aé")["input_ids"]
        [65, 195, 169]
    """
    # Byte-level BPE without merges writes bytes as letters: printable ones as themselves, others as those from 256 on.
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = printable + [byte for byte in range(256) if byte not in printable]
    vocabulary = {chr(byte if byte in printable else 256 + i - len(printable)): byte for i, byte in enumerate(letters)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    # A text with the letters <pad> is read as these letters.
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", padding_side="left", split_special_tokens=True
    )
