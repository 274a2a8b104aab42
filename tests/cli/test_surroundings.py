"""Commands where little is as usual: no docstrings, no working folder, no checkout."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("command", ["run --help", "figures figure=1", "study crasp", "demo"])
def test_a_working_folder_that_is_gone_is_said_in_one_line(tmp_path, command):
    words = ["synthlab", *command.split()]
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"import os, runpy, sys; sys.path.insert(0, {str(ROOT)!r}); os.rmdir(os.getcwd()); sys.argv = {words!r}; "
    code += "runpy.run_module('synthlab', run_name='__main__', alter_sys=True)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=gone, capture_output=True, text=True, timeout=120, check=False
    )
    line = "error: the working folder is gone; change to one that is there\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)
