"""``synthlab evaluate`` on a tiny random Llama and on a run of the lab, on texts and on tasks; resuming; refusals."""

import json
import shutil

import pandas as pd
import pytest
from matplotlib.figure import Figure

from support import hf
from support.configs import small
from support.language_models import saved
from synthlab.errors import InputError
from synthlab.storage.store import Store
from synthlab.training.execution import execute_together

pytestmark = pytest.mark.slow

QUICK = ["device=cpu", "lengths=[8,16]", "measures=[disjoint,strided,sliding,last,misalignment]", "batch=64"]


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """A folder with a random Llama of bytes, and its tokenizer."""
    return saved(tmp_path_factory.mktemp("llama"))


@pytest.fixture
def evaluate(invoke, tmp_path, monkeypatch, request):
    """The command on two texts and one that is too short, in a folder of its own. Its figure, which takes longer than
    all else, is empty but in one test."""
    evaluation = getattr(hf, "perplexity.evaluation")
    draw, empty = evaluation.draw_figure, "test_a_model_is_measured_once" not in request.node.name
    monkeypatch.setattr(evaluation, "draw_figure", lambda *given: Figure() if empty else draw(*given))
    texts = tmp_path / "texts"
    texts.mkdir()
    for name, text in {"a": "abcdefgh" * 4, "b": "The quick brown fox jumps.", "c": "short"}.items():
        (texts / f"{name}.txt").write_text(text)

    def call(model, *others):
        return invoke(
            "synthlab", "evaluate", f"model={model}", f"texts={texts}", f"results={tmp_path}", *QUICK, *others
        )

    return call


def written(folder):
    return {path.name: path.read_bytes() for path in folder.glob("evaluate/[0-9a-f]*/*") if path.parent.name != "parts"}


def test_a_model_is_measured_once(evaluate, llama, tmp_path, monkeypatch):
    first = evaluate(llama)
    assert first.status == 0, first.err
    assert "documents: 2 of 3; 1 have fewer than 16 tokens\ncost: " in first.err
    files = written(tmp_path)
    table = pd.read_csv(next(tmp_path.glob("evaluate/*/perplexity.csv")))
    assert len(table) == 4 * 2
    assert table["perplexity"].between(200, 320).all()  # a guess among 256 bytes
    assert table["loss_error"].gt(0).all()
    again = evaluate(llama)
    assert again.out == first.out
    assert "cost: 0 tokens" in again.err
    assert "20 of 20 parts are recorded" in again.err
    assert written(tmp_path) == files


def test_an_interrupted_evaluation_goes_on(evaluate, llama, tmp_path, monkeypatch):
    whole = evaluate(llama)
    shutil.rmtree(tmp_path / "evaluate")
    from synthlab.huggingface.perplexity.scoring import Measurement

    compute, computed = Measurement.compute, []

    def interrupted(self, *args):
        if len(computed) == 7:
            raise KeyboardInterrupt
        computed.append(self)
        return compute(self, *args)

    with monkeypatch.context() as patched:
        patched.setattr(Measurement, "compute", interrupted)
        stopped = evaluate(llama)
    assert stopped.status == 130
    assert "the same command goes on from there" in stopped.err
    assert not written(tmp_path)
    assert len(list(tmp_path.glob("evaluate/parts/*/*"))) == 7
    next(tmp_path.glob("evaluate/parts/*/*.json")).write_text('{"count": 3')  # and one was damaged since
    going_on = evaluate(llama)
    assert "6 of 20 parts are recorded" in going_on.err
    assert going_on.out == whole.out


def test_other_settings_are_measured_anew(evaluate, llama, tmp_path):
    import torch
    from transformers import LlamaForCausalLM

    assert evaluate(llama).status == 0
    other = tmp_path / "other"
    shutil.copytree(llama, other)
    changed = LlamaForCausalLM.from_pretrained(llama)
    with torch.no_grad():
        changed.lm_head.weight[0, 0] += 1
    changed.save_pretrained(other)
    assert "recorded" not in evaluate(other).err
    assert "recorded" not in evaluate(llama, "dtype=float64").err
    assert "16 of 20 parts are recorded" in evaluate(llama, "stride=3").err
    (tmp_path / "texts" / "a.txt").write_text("abcdefgh" * 3 + "ABCDEFGH")
    assert "10 of 20 parts are recorded" in evaluate(llama).err


def test_a_run_of_the_lab_is_measured(evaluate, tmp_path):
    config = small("encoding=rope")
    [record] = execute_together([config], keep=[config.steps])
    store = Store(tmp_path / "language", save="weights")
    store.write(record)
    outcome = evaluate(config.id, f"runs={tmp_path / 'language'}")
    assert outcome.status == 0, outcome.err
    about = json.loads(next(tmp_path.glob("evaluate/*/evaluation.json")).read_text())
    assert (about["bos"], about["documents_kept"]) == ("none", 2)


def test_bad_models_are_refused_in_one_line(evaluate, llama, tmp_path):
    from transformers import AutoConfig, AutoModelForCausalLM

    def refused(model, line, *words):
        outcome = evaluate(model, *words)
        assert outcome.status == 2, outcome
        assert line in next(each for each in outcome.err.splitlines() if each.startswith("error: "))
        assert "Traceback" not in outcome.err

    refused(tmp_path / "nowhere", "nowhere: cannot be opened (")
    refused(llama, "bos=document: the tokenizer has no token to begin", "bos=document")
    config = AutoConfig.from_pretrained(llama)
    config.vocab_size = 100
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / "few")
    refused(tmp_path / "few", "tokenizer=bytes: has 256 tokens; the model knows 100", "tokenizer=bytes")
    assert not (tmp_path / "evaluate").exists()


def test_documents_that_are_too_short_or_of_another_tokenizer_are_refused(llama, tmp_path):
    from synthlab.huggingface.perplexity.evaluation import tokenize_documents
    from synthlab.huggingface.perplexity.models import open_with_tokenizer
    from synthlab.huggingface.perplexity.settings import Settings

    given = {"model": str(llama), "texts": str(tmp_path / "a.txt"), "lengths": [4], "measures": ["last"], "tokens": 6}
    settings = Settings.from_raw(given)
    opened = open_with_tokenizer(settings)._replace(bos="document", begin=7)
    (tmp_path / "a.txt").write_text("twenty bytes of text")
    [document], number = tokenize_documents(settings, opened)
    assert number == 1
    assert document.tokens.tolist() == [7, *b"twent"]
    assert document.bytes_per_token == 1
    for text, line in (("é" * 9, "tokenizer=.*: has token 195; "), ("", "texts=.*: the longest of 1 documents has 1 ")):
        (tmp_path / "a.txt").write_text(text)
        with pytest.raises(InputError, match=f"^{line}.*$"):
            tokenize_documents(settings, opened._replace(vocabulary=128))
