import hashlib
import sys
import sysconfig
from pathlib import Path

import pytest
import torch

from synthlab.errors import InputError
from synthlab.language.languages.text import Text
from synthlab.rng import stream


def text(path: Path | str | None, **changes) -> Text:
    settings = {"bytes": 4_000_000, "held_out": 0.1, "digest": None} | changes
    return Text(path=path and str(path), **settings)


@pytest.fixture
def book(tmp_path) -> Path:
    """The bytes 0 to 99."""
    path = tmp_path / "book.txt"
    path.write_bytes(bytes(range(100)))
    return path


def test_windows_are_pieces_of_the_text(book):
    x = text(book).draw(50, 7, stream(0, "training"))
    assert torch.equal(x - x[:, :1], torch.arange(7).expand(50, -1))


def test_every_window_of_a_part_is_drawn(book):
    language = text(book)
    generator = stream(0, "training")
    assert set(language.draw(2000, 4, generator)[:, 0].tolist()) == set(range(87))  # 90 bytes, the last window at 86
    assert set(language.draw(500, 4, generator, held_out=True)[:, 0].tolist()) == set(range(90, 97))


def test_only_the_first_bytes_of_a_file_are_read(book):
    language = text(book, bytes=20)
    assert language.draw(500, 1, stream(0, "training")).max() == 17
    assert language.complete_arguments() == {"digest": hashlib.sha256(bytes(range(20))).hexdigest()[:16]}


def test_the_default_text_is_pythons_library():
    folder = Path(sysconfig.get_path("stdlib"))
    modules = sorted(path for path in folder.glob("*.py") if path.stem in sys.stdlib_module_names)
    whole = b"".join(path.read_bytes() for path in modules)[:4_000_000]
    language = text(None)
    assert language.complete_arguments() == {"digest": hashlib.sha256(whole).hexdigest()[:16]}
    for held_out, part in ((False, whole[:-400_000]), (True, whole[-400_000:])):
        for window in language.draw(3, 200, stream(0, "training"), held_out):
            assert bytes(window.tolist()) in part


def test_a_changed_text_is_refused(book):
    digest = text(book).complete_arguments()["digest"]
    assert text(book, digest=digest).complete_arguments() == {"digest": digest}
    with pytest.raises(InputError, match=f"task.digest={'0' * 16}: .* has changed: .* now have {digest}"):
        text(book, digest="0" * 16)


@pytest.mark.parametrize(("held_out", "length"), [(False, 90), (True, 10)])
def test_windows_longer_than_the_part_are_refused(book, held_out, length):
    text(book).draw(1, length, stream(0, "training"), held_out)
    with pytest.raises(InputError, match=f"task.path=.*: has {length} bytes for t"):
        text(book).draw(1, length + 1, stream(0, "training"), held_out)


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "empty").touch()
    with pytest.raises(InputError, match="^task.path=.*empty: is empty"):
        text(tmp_path / "empty")
