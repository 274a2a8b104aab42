"""What a document is, and what is refused."""

import json

import pytest

from synthlab.errors import InputError
from synthlab.huggingface.perplexity.documents import read_texts, tokenize_documents
from synthlab.huggingface.perplexity.settings import Settings


def settings(texts, **others) -> Settings:
    defaults = {"model": "m", "lengths": [4], "measures": ["disjoint"], "texts": str(texts)}
    return Settings.from_raw(defaults | others)


class Letters:
    """A tokenizer of bytes."""

    def __call__(self, text, add_special_tokens, verbose):
        assert not add_special_tokens
        return {"input_ids": list(text.encode())}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "b.txt").write_text("second é")
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": f"line {i}"}) for i in range(2)) + "\n\n")
    (tmp_path / "deep" / "c.md").write_text("no")
    (tmp_path / "d.bin").write_bytes(b"\xff\xfe")
    return tmp_path


def test_files_and_lines_are_documents_in_order_of_name(folder):
    names = [text.name for text in read_texts(settings(folder))]
    assert names == ["a.jsonl:1", "a.jsonl:2", "b.txt", "deep/c.md"]
    assert [text.name for text in read_texts(settings(folder / "b.txt"))] == ["b.txt"]


def test_short_documents_are_counted_and_long_ones_cut(folder):
    documents = tokenize_documents(settings(folder, tokens=5), Letters(), 256, begin=7)
    assert (documents.found, len(documents.kept)) == (4, 3)
    assert documents.kept[2].tokens.tolist() == [7, *b"seco"]
    assert documents.kept[2].bytes_per_token == 1
    assert tokenize_documents(settings(folder, documents=1), Letters(), 256, None).found == 1


def test_documents_are_told_apart_by_what_they_hold(folder):
    first = tokenize_documents(settings(folder), Letters(), 256, None).kept
    (folder / "b.txt").write_text("second e ")
    after = tokenize_documents(settings(folder), Letters(), 256, None).kept
    assert [one.digest == other.digest for one, other in zip(first, after, strict=True)] == [True, True, False]


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.txt", b"", "texts="),
        ("a.txt", b"\xff\xfe", "texts="),
        ("a.jsonl", b"{", "texts="),
        ("a.jsonl", b'{"title": "x"}', "key=text: "),
        ("a.txt", "é".encode() * 9, "tokenizer=m: has token 195; "),
    ],
)
def test_bad_texts_are_refused_in_one_line(tmp_path, name, content, line):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"^{line}.*$"):
        tokenize_documents(settings(path), Letters(), 128, None)
