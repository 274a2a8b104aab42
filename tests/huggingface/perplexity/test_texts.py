"""What a document is, and what is refused."""

import json

import pytest

from synthlab.errors import InputError
from synthlab.huggingface.texts import read_texts


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "b.txt").write_text("second é")
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": f"line {i}"}) for i in range(2)) + "\n\n")
    (tmp_path / "deep" / "c.md").write_text("no")
    (tmp_path / "d.bin").write_bytes(b"\xff\xfe")
    return tmp_path


def test_files_and_lines_are_documents_in_order_of_name(folder):
    assert [text.name for text in read_texts(str(folder))] == ["a.jsonl:1", "a.jsonl:2", "b.txt", "deep/c.md"]
    assert list(read_texts(str(folder / "b.txt"))) == [("b.txt", "second é")]


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.txt", b"\xff\xfe"), ("a.jsonl", b"{"), ("a.jsonl", b'{"title": "x"}'), ("a.jsonl", b'{"text": "\\ud800"}')],
)
def test_bad_texts_are_refused_in_one_line(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=f"^texts={tmp_path}.*$"):
        list(read_texts(str(tmp_path)))
    with pytest.raises(InputError, match="^texts=/nowhere: cannot be read"):
        list(read_texts("/nowhere"))
