"""``synthlab evaluate`` on a tiny random Llama and on a run of the lab; resuming; what is refused."""

import json
import shutil

import pandas as pd
import pytest
from matplotlib.figure import Figure

from support.small import small
from support.tiny_llama import saved
from synthlab.huggingface.perplexity.figure import draw
from synthlab.storage.store import Store
from synthlab.training.execution import execute_together

pytestmark = pytest.mark.slow

QUICK = ["device=cpu", "lengths=[8,16]", "measures=[disjoint,strided,sliding,last,misalignment]", "batch=64"]


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """A folder with a random Llama of bytes, and its tokenizer."""
    pytest.importorskip("transformers")
    return saved(tmp_path_factory.mktemp("llama"))


@pytest.fixture
def evaluate(invoke, tmp_path, monkeypatch):
    """The command on two texts and one that is too short, in a folder of its own; its figure, which takes longer than
    all else, is empty."""
    pytest.importorskip("transformers")
    monkeypatch.setattr("synthlab.huggingface.perplexity.report.draw", lambda *_: Figure())
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


def test_a_model_is_measured_and_measured_again_from_what_is_kept(evaluate, llama, tmp_path, monkeypatch):
    monkeypatch.setattr("synthlab.huggingface.perplexity.report.draw", draw)
    first = evaluate(llama)
    assert first.status == 0, first.err
    assert first.err.startswith("documents: 2 of 3; 1 have fewer than 16 tokens\ncost: ")
    assert first.out.split()[:7] == ["length", "disjoint", "strided", "sliding", "last", "misalignment", "excess"]
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


def test_an_interrupted_evaluation_goes_on_where_it_was(evaluate, llama, tmp_path, monkeypatch):
    whole = evaluate(llama)
    shutil.rmtree(tmp_path / "evaluate")
    from synthlab.huggingface.perplexity.measurements import Measurement

    compute, computed = Measurement.compute, []

    def interrupted(self, *args):
        if len(computed) == 7:
            raise KeyboardInterrupt
        computed.append((self.document.name, self.measure, self.span.length))
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


def test_another_model_text_or_setting_takes_nothing_from_what_is_kept(evaluate, llama, tmp_path):
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
    pytest.importorskip("transformers")
    config = small("encoding=rope")
    [record] = execute_together([config], keep=[config.steps])
    store = Store(tmp_path / "language", save="weights")
    store.write(record)
    outcome = evaluate(config.id, f"runs={tmp_path / 'language'}")
    assert outcome.status == 0, outcome.err
    assert outcome.out.splitlines()[0] == evaluate(store.path(config.id)).out.splitlines()[0]
    about = json.loads(next(tmp_path.glob("evaluate/*/evaluation.json")).read_text())
    assert (about["bos"], about["documents_kept"]) == ("none", 2)


def refuse(outcome, *parts):
    assert outcome.status == 2, outcome
    [line] = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert "Traceback" not in outcome.err
    for part in parts:
        assert part in line


def test_bad_models_are_refused_in_one_line(evaluate, llama, tmp_path, monkeypatch):
    from transformers import AutoConfig, AutoModelForCausalLM

    refuse(evaluate(tmp_path / "nowhere"), "there is no such folder; give a folder")
    (tmp_path / "empty").mkdir()
    refuse(evaluate(tmp_path / "empty"), f"model={tmp_path / 'empty'}: cannot be opened (")
    refuse(evaluate("0123456789abcdef"), "there is no such record")
    refuse(evaluate(llama, "bos=document"), "bos=document: the tokenizer has no token to begin")

    def unreachable(*_, **__):
        raise OSError("We couldn't connect to 'https://huggingface.co' to load the files")

    with monkeypatch.context() as patched:
        patched.setattr(AutoModelForCausalLM, "from_pretrained", unreachable)
        refuse(evaluate("nobody/nothing"), "model=nobody/nothing: cannot be opened (the hub cannot be reached")
    small_vocabulary = tmp_path / "few"
    config = AutoConfig.from_pretrained(llama)
    config.vocab_size = 100
    AutoModelForCausalLM.from_config(config).save_pretrained(small_vocabulary)
    refuse(evaluate(small_vocabulary, "tokenizer=bytes"), "tokenizer=bytes: has 256 tokens; the model knows 100")
    config.num_hidden_layers, config.vocab_size = 2, 256
    more = tmp_path / "more"
    shutil.copytree(llama, more)
    config.save_pretrained(more)
    refuse(evaluate(more), "lacks the weights model.layers.1.")
    assert not (tmp_path / "evaluate").exists()
