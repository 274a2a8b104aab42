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


def built(folder) -> SimpleNamespace:
    return SimpleNamespace(outdir=folder, builder=SimpleNamespace(format="html"))


def test_pages_of_files_of_the_root_link_from_docs(conf):
    source = [""]
    conf.read_source(None, "contributing", source)
    assert source[0].startswith("# Contributing\n")
    assert "](../synthlab/models/encodings/__init__.py)" in source[0]
    assert "](changelog.md)" in source[0]
    assert "](extending.md)" in source[0]


def test_pages_with_links_and_files_of_their_own_need_no_network(conf, tmp_path):
    (tmp_path / "index.html").write_text('<script src="a.js"></script><a href="https://arxiv.org">paper</a>')
    (tmp_path / "a.css").write_text('body { background: url("a.png"); } /* https://example.org */')
    conf.check_offline(built(tmp_path), None)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("index.html", '<script src="https://cdn.example.org/a.js"></script>'),
        ("a.css", '@import "https://example.org/a.css";'),
    ],
)
def test_what_a_page_would_fetch_is_named(conf, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(RuntimeError, match=re.escape(name)):
        conf.check_offline(built(tmp_path), None)


def test_every_page_is_in_the_sites_contents():
    index = (ROOT / "docs" / "index.md").read_text()
    listed = {
        line for block in re.findall(r"```\{toctree\}\n(.*?)```", index, flags=re.DOTALL) for line in block.split()
    }
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    assert pages | {f"notebooks/{path.stem}" for path in (ROOT / "docs" / "notebooks").glob("*.ipynb")} <= listed
