"""EleutherAI's harness on a random Llama and on a run of the lab, from a folder, without a network: its scores are
those of a direct count."""

import contextlib
import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from support.configs import small
from support.language_models import llama, saved
from support.records import opened
from synthlab.errors import InputError

pytestmark = pytest.mark.slow

LONGBENCH = {"passage_count": (100, 4500, 9000, 9001), "lcc": (3999, 4000)}


@pytest.fixture(scope="module")
def lm():
    """Models, a tokenizer, and what is tested here."""
    pytest.importorskip("lm_eval")
    from synthlab.huggingface.benchmarks.harness import evaluate_tasks
    from synthlab.huggingface.bridge import byte_tokenizer, to_huggingface

    # With a cache, without one, and with an encoding that changes with the length of the text.
    models = {"llama": llama(seed=1)} | {
        name: to_huggingface(opened(small("task=text", f"encoding={name}"))) for name in ("alibi", "dynamic_ntk")
    }
    return SimpleNamespace(evaluate=evaluate_tasks, tokenizer=byte_tokenizer(), models=models)


@pytest.fixture(scope="module", autouse=True)
def offline():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        patched.setattr("datasets.config.HF_HUB_OFFLINE", True)
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder of made copies of data sets: a README.md that names their files, as on the hub."""
    root = tmp_path_factory.mktemp("data")
    entry = {"input": "", "context": "one two", "answers": ["e"], "all_classes": None}
    longbench = {task: [entry | {"length": each} for each in lengths] for task, lengths in LONGBENCH.items()}
    write(root / "Xnhyacinth/LongBench", {(f"{task}_e", "test"): rows for task, rows in longbench.items()})
    answers = ["e", "kitchen", "\x00", "a"]
    facts = [{"input": "Mary went to the attic.", "question": "Where?", "target": answer} for answer in answers]
    write(root / "RMT-team/babilong-1k-samples", {("1k", "qa1"): facts})
    return root


def write(folder, files):
    """A copy of a data set with the rows of each config and split."""
    configs = []
    for (name, split), rows in files.items():
        path = folder / name / f"{split}.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        configs.append({"config_name": name, "data_files": [{"split": split, "path": f"{name}/{split}.jsonl"}]})
    (folder / "README.md").write_text(f"---\n{json.dumps({'configs': configs})}\n---\n")


def greedy(model, prompt: str, count: int) -> str:
    """The likeliest bytes after a prompt, one forward pass each."""
    tokens = list(prompt.encode())
    with torch.no_grad():
        for _ in range(count):
            tokens.append(int(model(torch.tensor([tokens]), use_cache=False).logits[0, -1].argmax()))
    return bytes(tokens[len(prompt.encode()) :]).decode(errors="replace")


@pytest.mark.parametrize("name", ["llama", "alibi", "dynamic_ntk"])
def test_scores_are_a_direct_count(lm, name, data, capsys):
    model, drawn = lm.models[name], torch.get_rng_state()
    frame = lm.evaluate(model.train(), lm.tokenizer, ["babilong_qa1"], task_data=data, lengths=[1000], limit=3)
    assert model.training
    model.eval()
    assert torch.equal(torch.get_rng_state(), drawn)
    from lm_eval.tasks import TaskManager, babilong  # the prompt has examples of its own

    folder = next(iter(babilong.__path__))
    manager = TaskManager(include_path=folder, include_defaults=False, metadata={"max_seq_lengths": "1k"})
    with contextlib.chdir(data):
        [task] = manager.load(["babilong_qa1"])["tasks"].values()
    task.set_fewshot_seed(0)
    found = []
    for doc in task.test_docs().select(range(3)):
        text = greedy(model, task.fewshot_context(doc, num_fewshot=2), 16)
        found.append(float(doc["target"].strip().lower() in text.strip().lower()))
    assert [*frame.columns] == ["task", "group", "length", "metric", "value", "stderr", "samples"]
    [row] = frame.to_dict("records")
    assert (row["task"], row["length"], row["metric"], row["samples"]) == ("babilong_qa1", "1k", "acc", 3)
    assert row["value"] == pytest.approx(sum(found) / 3)
    assert row["stderr"] == pytest.approx(torch.tensor(found).std().item() / math.sqrt(3))
    assert not capsys.readouterr().out


def test_longbench_has_bins_of_lengths(lm, data):
    frame = lm.evaluate(lm.models["llama"], lm.tokenizer, [f"longbench_{task}_e" for task in LONGBENCH], data)
    own = frame[frame.task == "longbench_passage_count_e"].query("metric == 'score'").set_index("length")
    assert own.samples.to_dict() == {"all": 4, "0-4k": 1, "4-8k": 1, "8k+": 2}
    assert set(frame[frame.task == "longbench_lcc_e"].length) == {"all", "0-4k", "4-8k"}
    assert "longbench_e" not in set(frame.task)  # each group lacks a task


def test_texts_that_lose_their_beginning_are_counted(lm, data, capsys):
    lm.evaluate(lm.models["llama"], lm.tokenizer, ["babilong_qa1"], data, lengths=[1000], limit=2, max_length=40)
    assert "2 texts were longer than max_length=40" in capsys.readouterr().err
    lm.evaluate(lm.models["llama"], lm.tokenizer, ["babilong_qa1"], data, lengths=[1000], limit=2)
    assert "lost" not in capsys.readouterr().err


def test_what_cannot_be_had_ends_with_one_line(lm, data):
    def refused(*tasks, model=lm.models["llama"], tokenizer=lm.tokenizer, **options):
        with pytest.raises(InputError) as caught:
            lm.evaluate(model, tokenizer, tasks, **options)
        assert len(caught.value.lines) == 1
        return str(caught.value)

    line = refused("longbench_trec_e", task_data=data)
    assert line.startswith("tasks=longbench_trec_e: cannot be opened: ")
    line = refused("niah_single_2", lengths=[4096])
    assert line.endswith("; give task_data=FOLDER with a copy in FOLDER/OWNER/NAME")
    assert "task_data=/nowhere: must be a folder" in refused("babilong_qa1", task_data="/nowhere")
    assert "lengths=1500: " in refused("babilong_qa1", lengths=[1500])
    given = {"task_data": data, "lengths": [1000]}
    broken = llama()
    broken.lm_head.weight.data[:] = math.nan
    assert "logits are not finite" in refused("babilong_qa1", model=broken, **given)
    line = refused("babilong_qa1", model=llama(200), **given)
    assert "tokenizer: has 256 tokens; must be that of the model, which has 200" in line


@pytest.mark.parametrize(
    ("length", "name"),
    [(0, "0k"), (1000, "1k"), (4096, "4k"), (16_384, "16k"), (128_000, "128k"), (131_072, "128k"), (256_000, "256k")],
)
def test_lengths_as_babilong_names_them(lm, length, name):
    from synthlab.huggingface.benchmarks.harness import thousands

    assert thousands(length) == name


def test_a_saved_tokenizer_names_no_code(lm, tmp_path):
    from synthlab.huggingface.benchmarks.harness import save_tokenizer

    class Tokenizer:
        """One that was opened from a folder that names code, which Transformers writes again."""

        def save_pretrained(self, folder: str) -> None:
            told = {"auto_map": {"AutoTokenizer": ["owner/code--module.Class", None]}, "pad_token": "é"}
            (Path(folder) / "tokenizer_config.json").write_text(json.dumps(told))

    save_tokenizer(Tokenizer(), str(tmp_path))
    assert json.loads((tmp_path / "tokenizer_config.json").read_text()) == {"pad_token": "é"}


def test_an_interrupted_evaluation_goes_on(lm, data, invoke, tmp_path, monkeypatch):
    from synthlab.huggingface.benchmarks import harness

    model = saved(tmp_path / "model")

    def evaluate(*others):
        words = [f"model={model}", "device=cpu", "tasks=[babilong_qa1,longbench_lcc_e]", "lengths=[1000]"]
        return invoke("synthlab", "evaluate", *words, f"task_data={data}", f"results={tmp_path}", *others)

    whole = evaluate(f"results={tmp_path / 'whole'}")
    assert whole.status == 0, whole.err
    score, done = harness._score, []

    def interrupted(lm, each, *setting):
        if done:
            raise KeyboardInterrupt
        done.append(each)
        return score(lm, each, *setting)

    with monkeypatch.context() as patched:
        patched.setattr(harness, "_score", interrupted)
        stopped = evaluate()
    assert stopped.status == 130
    assert not [*tmp_path.glob("evaluate/tasks-*/tasks.csv")]
    going_on = evaluate()
    assert going_on.err.count(", recorded") == 1
    assert going_on.out.split("\n\n")[0] == whole.out.split("\n\n")[0]
    for other in ("seed=1", "dtype=float64"):
        outcome = evaluate(other)
        assert outcome.status == 0, (other, outcome.err)
        assert "recorded" not in outcome.err
    assert len([*tmp_path.glob("evaluate/tasks-*/tasks.csv")]) == 3  # a folder for each setting
