"""The command that compares runs: what it takes, writes and refuses."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest

import synthlab
from support.records import encoded, made, record
from synthlab import compare
from synthlab.analysis import collection
from synthlab.compare import main
from synthlab.storage.store import Store


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """The command line in a folder with records of two encodings, one of them with a diverged run."""
    monkeypatch.chdir(tmp_path)
    store = Store(tmp_path / "results")
    for run in [*made(1), *made(10, **encoded("alibi")), record(5, diverged_at=2)]:
        store.write(run)

    def call(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main(list(words))
        return (left.value.code or 0, *capsys.readouterr())

    return call


@pytest.mark.parametrize("suffix", [".png", *(pytest.param(one, marks=pytest.mark.slow) for one in (".pdf", ".svg"))])
def test_the_command_writes_the_picture_and_its_points(command, tmp_path, suffix):
    figures = plt.get_fignums()
    assert command("--out", f"mine{suffix}") == (0, f"written:\n  mine{suffix}\n  mine.points.csv\n", "")
    assert (tmp_path / f"mine{suffix}").stat().st_size > 1000
    written = pd.read_csv(tmp_path / "mine.points.csv")
    assert written[written["length"] == 3]["median"].tolist() == [6, 60]
    before = (tmp_path / f"mine{suffix}").read_bytes()
    command("--out", f"mine{suffix}")
    assert (tmp_path / f"mine{suffix}").read_bytes() == before
    assert plt.get_fignums() == figures


def test_the_command_takes_all_that_the_call_takes(command, tmp_path):
    words = "results --metric bias --x train_length --by encoding --facet task --length 4,5 --where encoding=nope,rope"
    status, _, err = command(*words.split())
    assert (status, err) == (0, "")
    written = pd.read_csv(tmp_path / "compare.points.csv")
    assert written[["metric", "task", "encoding", "length", "train_length", "median"]].to_numpy().tolist() == [
        ["bias", "length", "nope", 4, 10, 8],
        ["bias", "length", "nope", 5, 10, 10],
    ]


def test_damaged_runs_are_told_of(command, tmp_path):
    path = min(tmp_path.glob("results/runs/*.parquet"))
    path.write_bytes(path.read_bytes()[:-1])
    status, _, err = command()
    assert status == 0
    assert err.startswith("warning: 1 damaged file")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--colour red", "unrecognized arguments: --colour"),
        ("--where encoding=rope", "results=results: holds no runs where encoding=rope"),
        ("--label NoPe=x", "label=NoPe: unknown, did you mean NoPE"),
        ("--label NoPE", "label=NoPE: must be"),
    ],
)
def test_the_command_refuses_in_one_line_and_writes_nothing(command, tmp_path, words, said):
    status, out, err = command(*words.split())
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {said}")
    assert err.count("\n") == 1
    assert not (tmp_path / "compare.png").exists()


def test_a_folder_is_read_in_parts(command, tmp_path, monkeypatch):
    asked = [["--x", "length"], ["--x", "encoding", "--metric", "horizon"], ["--x", "step"]]
    for number, words in enumerate(asked):
        assert command(*words, "--out", f"{number}.png")[0] == 0
    monkeypatch.setattr(collection, "PART_RUNS", 1)
    monkeypatch.setattr(compare, "PART_RUNS", 1)
    for number, words in enumerate(asked):
        assert command(*words, "--out", "parts.png")[0] == 0
        for suffix in (".png", ".points.csv"):
            assert (tmp_path / f"parts{suffix}").read_bytes() == (tmp_path / f"{number}{suffix}").read_bytes()


def test_a_series_of_one_s_own_has_the_label_that_it_is_given(command, tmp_path):
    assert command("--by", "encoding", "--label", "NoPE=none, by me", "--out", "mine.svg")[0] == 0
    figure = compare.compare(synthlab.load_records(), by="encoding", labels={"NoPE": "none, by me"})
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    plt.close(figure)
    assert labels == ["none, by me", "ALiBi"]
