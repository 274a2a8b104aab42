"""EleutherAI's harness on a random Llama and on a run of the lab, from a folder, without a network: its scores are
those of a direct count."""

import json
import math
from types import SimpleNamespace

import pytest
import torch

from support.configs import small
from support.language_models import answering, llama
from support.records import opened
from synthlab.errors import InputError
from synthlab.huggingface.benchmarks.synthetic import samples, share_of_answers

pytestmark = pytest.mark.slow

LONGBENCH = {"passage_count": (100, 4500, 9000, 9001), "lcc": (3999, 4000)}


@pytest.fixture(scope="module")
def lm():
    """Two models, a tokenizer, and what is tested here."""
    pytest.importorskip("lm_eval")
    from synthlab.huggingface.benchmarks.harness import evaluate_tasks
    from synthlab.huggingface.bridge import to_huggingface
    from synthlab.huggingface.tokenizer import byte_tokenizer

    # With a cache, without one, and with an encoding that changes with the length of the text.
    models = {"llama": llama(seed=1)} | {
        name: to_huggingface(opened(small("task=text", f"encoding={name}"))) for name in ("alibi", "dynamic_ntk")
    }
    return SimpleNamespace(evaluate=evaluate_tasks, tokenizer=byte_tokenizer(), models=models)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder of made data sets: of LongBench, a folder for each config; of BABILong too."""
    root = tmp_path_factory.mktemp("data")
    for task, lengths in LONGBENCH.items():
        entry = {"input": "", "context": "one two", "answers": ["e"], "all_classes": None}
        write(root / f"Xnhyacinth/LongBench/{task}_e/test.jsonl", [entry | {"length": each} for each in lengths])
    answers = ["e", "kitchen", "\x00", "a"]
    facts = [{"input": "Mary went to the attic.", "question": "Where?", "target": answer} for answer in answers]
    write(root / "RMT-team/babilong-1k-samples/1k/qa1.jsonl", facts)
    return root


def write(path, entries):
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))


def greedy(model, prompt: str, count: int) -> str:
    """The likeliest bytes after a prompt, one forward pass each."""
    tokens = list(prompt.encode())
    with torch.no_grad():
        for _ in range(count):
            tokens.append(int(model(torch.tensor([tokens]), use_cache=False).logits[0, -1].argmax()))
    return bytes(tokens[len(prompt.encode()) :]).decode(errors="replace").split("\n")[0]


@pytest.mark.parametrize("name", ["llama", "alibi", "dynamic_ntk"])
def test_scores_of_own_tasks_are_a_direct_count(lm, name):
    model = lm.models[name]
    frame = lm.evaluate(model, lm.tokenizer, ["needle"], limit=3, seed=7, lengths=[64, 90], depths=[0.0, 1.0])
    assert [*frame.columns] == ["task", "group", "length", "metric", "value", "stderr", "samples"]
    for length in (64, 90):
        for depth in (0.0, 1.0):
            recall, losses, exact = [], [], []
            for sample in samples("needle", length, 3, str.encode, 7, depth):
                recall.append(share_of_answers(sample.answers, greedy(model, sample.prompt, sample.room)))
                tokens, first = sample.encoded(str.encode)
                with torch.no_grad():
                    logits = model(torch.tensor([tokens[:-1]])).logits[0, first - 1 :]
                wanted = torch.tensor(tokens[first:])
                losses.append(float(torch.nn.functional.cross_entropy(logits, wanted)))
                exact.append(float((logits.argmax(-1) == wanted).all()))
            own = frame[(frame.length == str(length)) & (frame.group == f"depth={depth:g}")].set_index("metric")
            assert own.value["recall"] == sum(recall) / 3
            assert own.value["exact"] == sum(exact) / 3
            assert own.value["loss"] == pytest.approx(sum(losses) / 3, rel=1e-5)
            assert own.stderr["loss"] == pytest.approx(torch.tensor(losses).std().item() / math.sqrt(3), rel=1e-3)
            assert (own.samples == 3).all()


def test_a_model_that_knows_the_answers_gets_all_of_them(lm):
    """Not a model: it writes what it is told by the prompt. So the whole road from generation to score is right."""
    told = {sample.prompt: sample.target for sample in samples("facts", 300, 4, str.encode, 2)}
    model = answering(llama(), lm.tokenizer, told.__getitem__)
    frame = lm.evaluate(model, lm.tokenizer, ["facts"], limit=4, seed=2, lengths=[300])
    assert frame[frame.metric == "recall"].value.item() == 1


@pytest.mark.parametrize("name", ["llama", "alibi"])
def test_scores_of_harness_tasks_are_a_direct_count(lm, name, data, capsys):
    model, drawn = lm.models[name], torch.get_rng_state()
    tasks = [f"longbench_{task}_e" for task in LONGBENCH]
    frame = lm.evaluate(model.train(), lm.tokenizer, tasks, data=data)
    assert model.training
    model.eval()
    assert torch.equal(torch.get_rng_state(), drawn)
    own = frame[frame.task == "longbench_passage_count_e"].query("metric == 'score'").set_index("length")
    assert own.samples.to_dict() == {"all": 4, "0-4k": 1, "4-8k": 1, "8k+": 2}
    assert set(frame[frame.task == "longbench_lcc_e"].length) == {"all", "0-4k", "4-8k"}
    assert "longbench_e" not in set(frame.task)  # each group lacks a task
    frame = lm.evaluate(model, lm.tokenizer, ["babilong_qa1"], data=data, lengths=[1000], limit=3)
    from lm_eval.tasks import TaskManager, babilong  # the prompt has examples of its own

    folder = next(iter(babilong.__path__))
    manager = TaskManager(include_path=folder, include_defaults=False, metadata={"max_seq_lengths": "1k"})
    from synthlab.huggingface.benchmarks.data import DataSource, data_from

    with data_from(DataSource.from_folder(data)):
        [task] = manager.load(["babilong_qa1"])["tasks"].values()
    task.set_fewshot_seed(0)
    found = []
    for doc in task.test_docs().select(range(3)):
        text = greedy(model, task.fewshot_context(doc, num_fewshot=2), 16)
        found.append(doc["target"].strip().lower() in text.strip().lower())
    assert frame.value.tolist() == [pytest.approx(sum(found) / 3)]
    assert frame[["task", "group", "length", "metric"]].values.tolist() == [["babilong_qa1", "babilong", "1k", "acc"]]
    assert not capsys.readouterr().out


def test_texts_that_lose_their_beginning_are_counted(lm, capsys):
    lm.evaluate(lm.models["llama"], lm.tokenizer, ["needle"], limit=2, lengths=[64], max_length=40)
    assert "4 of 4 texts were longer than max_length=40" in capsys.readouterr().err
    lm.evaluate(lm.models["llama"], lm.tokenizer, ["needle"], limit=2, lengths=[64], max_length=64)
    assert "lost" not in capsys.readouterr().err


def test_what_cannot_be_had_ends_with_one_line(lm, data, monkeypatch):
    import datasets

    def unreachable(path, **_):
        raise ConnectionError(f"Couldn't reach {path!r} on the Hub")

    def refused(*tasks, model=lm.models["llama"], tokenizer=lm.tokenizer, **options):
        with pytest.raises(InputError) as caught:
            lm.evaluate(model, tokenizer, tasks, **options)
        assert len(caught.value.lines) == 1
        return str(caught.value)

    place = data / "Xnhyacinth/LongBench"
    assert f"put it into {place}/trec_e/test.jsonl (named by the split" in refused("longbench_trec_e", data=data)
    (place / "qasper_e").mkdir()
    (place / "qasper_e/test.jsonl").write_text('{"context": "no question"}\n')
    assert "longbench_qasper_e: cannot be made: " in refused("longbench_qasper_e", data=data)
    assert "samples=null: " in refused("needle", lengths=[64])
    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    line = refused("longbench_trec_e")
    assert "put it into FOLDER/Xnhyacinth/LongBench/trec_e/test.jsonl" in line
    broken = llama()
    broken.lm_head.weight.data[:] = math.nan
    assert "logits are not finite" in refused("needle", lengths=[64], limit=1, model=broken)
    line = refused("needle", lengths=[64], limit=1, model=llama(200))
    assert "tokenizer: has 256 tokens; must be that of the model, which has 200" in line
