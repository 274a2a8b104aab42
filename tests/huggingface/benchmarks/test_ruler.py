"""RULER's own tasks of the harness, from a folder, without a network; what lacks is named with its place."""

import json
import random
import re
import shutil
import sys
from collections import Counter
from types import SimpleNamespace

import pytest

from support.language_models import answering, llama
from synthlab.errors import InputError

pytestmark = pytest.mark.slow

NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.\n"
FILES = ("collocations.tab", "sent_starters.txt", "abbrev_types.txt", "ortho_context.tab")
TASKS = ["niah_single_1", "niah_single_2", "ruler_vt", "ruler_cwe", "ruler_fwe", "ruler_qa_hotpot"]


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
    """A folder with made essays, questions, and a ``punkt_tab`` that knows no abbreviation."""
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
    (root / "ruler").mkdir()
    hops = [
        {"question": f"Where is {i}?", "answer": "Paris", "context": [[f"A {i % 20}", ["b.", "c."]]]}
        for i in range(500)
    ]
    (root / "ruler/hotpot_dev_distractor_v1.json").write_text(json.dumps(hops))
    return root


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
    return " Paris"


def test_answers_read_off_the_texts_score_1(lm, data):
    """The texts are whole, of the length that is asked for, and what is written is scored."""
    import nltk
    import requests

    before, sizes = (list(nltk.data.path), nltk.download, requests.get), []

    def answer(prompt: str) -> str:
        sizes.append(len(lm.tokenizer(prompt)["input_ids"]))
        return solved(prompt)

    model = answering(llama(1500), lm.tokenizer, answer)
    frame = lm.evaluate(model, lm.tokenizer, TASKS, data=data, lengths=[1200], limit=2, seed=3)
    assert frame.set_index("task").value.to_dict() == dict.fromkeys(TASKS, 1.0)
    assert set(frame.length) == {"1200"}
    assert set(frame.metric) == {"recall"}
    assert 500 < min(sizes) <= max(sizes) < 1200
    assert before == (nltk.data.path, nltk.download, requests.get)
    assert not [name for name in sys.modules if name.startswith("lm_eval.tasks.ruler")]


def test_texts_depend_on_the_seed(lm, data):
    def prompts(seed: int) -> list[str]:
        seen: list[str] = []
        model = answering(llama(1500), lm.tokenizer, lambda prompt: seen.append(prompt) or "")
        lm.evaluate(model, lm.tokenizer, ["ruler_cwe"], data=data, lengths=[1200], limit=2, seed=seed)
        return seen

    assert prompts(1) == prompts(1) != prompts(2)


def refused(lm, *tasks, tokenizer=None, **options) -> str:
    with pytest.raises(InputError) as caught:
        lm.evaluate(lm.model, tokenizer or lm.tokenizer, tasks, **options)
    [line] = caught.value.lines
    return line


def test_what_lacks_is_named_with_its_place(lm, data, tmp_path, monkeypatch):
    import requests

    line = refused(lm, "niah_single_2", data=tmp_path, lengths=[1200])
    assert f"put it into {tmp_path}/baber/paul_graham_essays/train.jsonl (named by the split" in line
    shutil.copytree(data, tmp_path / "part", ignore=shutil.ignore_patterns("nltk_data"))
    line = refused(lm, "niah_single_2", data=tmp_path / "part", lengths=[1200])
    assert line.startswith(f"data={tmp_path}/part: lacks NLTK's punkt_tab")

    def unreachable(*_, **__):
        raise requests.ConnectionError("no network")

    monkeypatch.setattr(requests, "get", unreachable)
    assert "give data=FOLDER and put it into FOLDER/ruler/hotpot_dev" in refused(lm, "ruler_qa_hotpot")


@pytest.mark.parametrize("task", ["ruler_cwe", "ruler_vt"])
def test_lengths_without_room_are_refused(lm, data, task):
    assert refused(lm, task, data=data, lengths=[150]).startswith("lengths=150: ")
