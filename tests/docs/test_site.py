"""What docs/conf.py adds to Sphinx: pages from files of the root, and the check that the site needs no network."""

import importlib.util
import re
from types import SimpleNamespace

import pytest

from experiments.reference import ROOT


@pytest.fixture(scope="module")
def conf():
    spec = importlib.util.spec_from_file_location("site_conf", ROOT / "docs" / "conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_of_files_of_the_root_link_from_docs(conf):
    source = [""]
    conf.read_source(None, "contributing", source)
    assert source[0].startswith("# Contributing\n")
    assert "](../synthlab/models/encodings/__init__.py)" in source[0]
    assert "](extending.md)" in source[0]


def test_the_first_page_is_the_readme_and_the_contents(conf):
    source = [(ROOT / "docs" / "index.md").read_text()]
    conf.read_source(None, "index", source)
    assert source[0].startswith("# synthlab\n")
    assert "](answers.svg)" in source[0]
    assert "](reference.md#tasks)" in source[0]
    assert source[0].endswith("changelog\n```\n")


def test_what_a_page_would_fetch_is_named(conf, tmp_path):
    site = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format="html"))
    (tmp_path / "index.html").write_text('<script src="a.js"></script><a href="https://arxiv.org">paper</a>')
    (tmp_path / "a.css").write_text('body { background: url("a.png"); } /* https://example.org */')
    conf.check_offline(site, None)
    (tmp_path / "index.html").write_text('<script src="https://cdn.example.org/a.js"></script>')
    (tmp_path / "a.css").write_text('@import "https://example.org/a.css";')
    with pytest.raises(RuntimeError, match=r"(?s)a\.css.*index\.html|index\.html.*a\.css"):
        conf.check_offline(site, None)


def test_every_page_is_in_the_sites_contents():
    index = (ROOT / "docs" / "index.md").read_text()
    listed = {
        line for block in re.findall(r"```\{toctree\}\n(.*?)```", index, flags=re.DOTALL) for line in block.split()
    }
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    assert pages | {f"notebooks/{path.stem}" for path in (ROOT / "docs" / "notebooks").glob("*.ipynb")} <= listed
