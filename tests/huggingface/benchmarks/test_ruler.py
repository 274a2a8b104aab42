"""RULER's own tasks of the harness, from a folder, without a network."""

import json
import random
import re
from collections import Counter
from types import SimpleNamespace

import pytest

from support.language_models import answering, llama
from synthlab.errors import InputError

pytestmark = pytest.mark.slow

NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.\n"
FILES = ("collocations.tab", "sent_starters.txt", "abbrev_types.txt", "ortho_context.tab")
TASKS = ["niah_single_1", "niah_single_2", "ruler_vt", "ruler_cwe", "ruler_fwe"]


@pytest.fixture(scope="module")
def lm():
    """What is tested here, with a model that is never asked, and a tokenizer of parts of words."""
    for package in ("lm_eval", "nltk"):
        pytest.importorskip(package)
    wonderwords = pytest.importorskip("wonderwords")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    from synthlab.huggingface.benchmarks.harness import evaluate_tasks

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    text = f"{NOISE} Memorize and track the chain(s) of variable assignment hidden in the following text. VAR ="
    text += " Question: Find all variables that are assigned the value in the text above. Answer: According to the"
    text += " chain(s) of variable assignment in the text above, variables are assgined the value they are: "
    few = [f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(150)]
    text += " ".join(f"{i}. {word}" for i, word in enumerate(few))
    inner.train_from_iterator(
        [text] * 2, trainers.BpeTrainer(vocab_size=1200, initial_alphabet=alphabet, show_progress=False)
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", padding_side="left")
    # All pairs of an adjective and a noun, which RULER makes of the whole lists, take half a minute.
    kinds = dict.fromkeys(["noun", "nouns", "adjective", "adjectives", "verb", "verbs"], few)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(wonderwords, "RandomWord", lambda: SimpleNamespace(_categories=kinds))
        yield SimpleNamespace(evaluate=evaluate_tasks, tokenizer=tokenizer, model=llama(1500))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with a copy of made essays, for which NLTK's sentences end at full stops."""
    import nltk
    from lm_eval.tasks.ruler import prepare_niah

    root = tmp_path_factory.mktemp("data")
    draw = random.Random(0)
    words = ["grass", "is", "green", "the", "sky", "blue", "sun", "yellow", "and", "back"]
    essays = [" ".join(draw.choice(words) + "." * (i % 9 == 0) for i in range(2000)) for _ in range(2)]
    (root / "baber/paul_graham_essays").mkdir(parents=True)
    (root / "baber/paul_graham_essays/train.jsonl").write_text(
        "".join(json.dumps({"text": each}) + "\n" for each in essays)
    )
    punkt = root / "nltk_data/tokenizers/punkt_tab/english"
    punkt.mkdir(parents=True)
    for name in FILES:
        (punkt / name).write_text("")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(nltk.data, "path", [str(root / "nltk_data")])
        yield root
    prepare_niah.get_haystack.cache_clear()  # the process keeps the essays that it has read


def solved(prompt: str) -> str:
    """The answers, read off a prompt of RULER by its wording."""
    if "special magic" in prompt:
        key = re.findall(r"number for ([\w-]+) mentioned in the provided text\?", prompt)[-1]
        return " " + ", ".join(re.findall(rf"for {key} is: (\d+)\.", prompt))
    if "VAR " in prompt:
        return " " + " ".join(re.findall(r"VAR (\w+) =", prompt.rsplit("Memorize", 1)[1]))
    if "numbered list" in prompt:
        asked = prompt.rsplit("Below is", 1)[1]
        return " " + " ".join(word for word, _ in Counter(re.findall(r"\d+\. ([\w-]+)", asked)).most_common(10))
    if "coded" in prompt:
        asked = prompt.split("most frequently appeared coded words.")[1].split("Question")[0]
        return " " + " ".join(word for word, _ in Counter(re.findall(r"[a-z]{6}", asked)).most_common(3))
    raise AssertionError(prompt)


def test_answers_read_off_the_texts_score_1(lm, data):
    """The texts are whole, of the length that is asked for, and what is written is scored."""
    sizes = []

    def answer(prompt: str) -> str:
        sizes.append(len(lm.tokenizer(prompt)["input_ids"]))
        return solved(prompt)

    model = answering(llama(1500), lm.tokenizer, answer)
    frame = lm.evaluate(model, lm.tokenizer, TASKS, task_data=data, lengths=[1200], limit=2, seed=3)
    assert frame.set_index("task").value.to_dict() == dict.fromkeys(TASKS, 1.0)
    assert set(frame.length) == {"1200"}
    assert set(frame.metric) == {"recall"}
    assert 500 < min(sizes) <= max(sizes) < 1200


@pytest.mark.parametrize("task", ["ruler_cwe", "ruler_vt"])
def test_lengths_without_room_are_refused(lm, data, task):
    with pytest.raises(InputError, match="^lengths=150: must be at least .*$"):
        lm.evaluate(lm.model, lm.tokenizer, [task], task_data=data, lengths=[150])
