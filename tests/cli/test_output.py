"""A full, a gone and a closed standard output cost what would have been printed; what steers a terminal is escaped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.configs import QUICK
from synthlab.errors import InputError, RunsFailed, escape
from synthlab.output import print_err, print_out
from synthlab.runs.composition import to_overrides
from synthlab.storage.store import Store

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def gone():
    """A stream whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    return open(writer, "w")


def full():
    """A stream on a full disk."""
    return open("/dev/full", "w")


@pytest.mark.parametrize("make", [gone, pytest.param(full, marks=needs_full)])
def test_what_nobody_can_read_is_dropped_and_costs_no_status(invoke, quick, make, monkeypatch):
    with make() as out, make() as err:
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        for _ in range(2):
            print_out("a line", "another")
            print_err("a line")
        assert invoke("synthlab", *quick, "task=sum").status == 0


@pytest.mark.slow
def test_workers_train_though_streams_are_closed(tmp_path):
    def close():
        for number in range(3):
            os.close(number)

    given = [*to_overrides(QUICK), f"results={tmp_path}", "task=mean,sum", "train_length=4,5", "workers=2"]
    command = [sys.executable, "-m", "synthlab", "-m", *given]
    assert subprocess.run(command, preexec_fn=close, timeout=120, check=False).returncode == 0
    assert len(Store(tmp_path).ids()) == 4


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("\x1b]0;title\x07 \x9b31m \x7f", r"\x1b]0;title\x07 \x9b31m \x7f"),
        ("a\r\nb\0", r"a\r\nb\x00"),
        ("\u202eabc\u2066 \u200b \ufeff \u2028 \udc80", r"\u202eabc\u2066 \u200b \ufeff \u2028 \udc80"),
        *((text, text) for text in ("a\tb", "数 é \u0301 \xa0 🙂", "C:\\n")),
    ],
)
def test_what_steers_a_terminal_is_escaped_in_errors(text, escaped):
    assert escape(text) == escaped
    assert InputError(text).lines == RunsFailed(text).lines == (escaped,)


STEERING = "\x1b[2J\u202e"


def test_lines_keep_their_newlines_and_nothing_else_that_steers_a_terminal(capsys):
    print_out(f"a\n\tb{STEERING}\r", 3)
    print_err(f"a\n\tb{STEERING}\udc80")
    assert capsys.readouterr() == ("a\n\tb\\x1b[2J\\u202e\\r\n3\n", "a\n\tb\\x1b[2J\\u202e\\udc80\n")
