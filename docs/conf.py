"""The documentation site, which ``make docs`` builds. A warning ends the build, and so does a page that would fetch a
script, a style, a font or a picture from a network, and a notebook with a cell that fails."""

import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
COPIED = {"index": "README.md", "contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md"}  # from the root

project = "synthlab"
author = "The synthlab authors"
copyright = "the synthlab authors, MIT license"
release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_heading_anchors = 3
highlight_language = "none"
exclude_patterns = ["**.ipynb_checkpoints"]
nb_execution_mode = "force"  # what a notebook shows is what it gives now
nb_execution_in_temp = True
nb_execution_timeout = 600  # seconds a cell
nb_execution_raise_on_error = True
nb_output_stderr = "remove"  # progress
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "synthlab"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_show_search_summary = False  # a browser reads no other page of a site that is a folder of files
html_css_files = ["site.css"]
html_static_path = ["static"]
html_extra_path = ["atlas.html"]

LINK = re.compile(r"(!?\[([^\]]*)\])\(((?!https?:|#)[^)\s]+)\)")


def read_source(app: Any, docname: str, source: list[str]) -> None:
    """Fill the pages that are files of the root, before their contents; make text of links to folders, which a site
    without a server cannot follow."""
    if docname in COPIED:
        text = LINK.sub(lambda link: f"{link[1]}({_from_docs(link[3])})", (ROOT / COPIED[docname]).read_text())
        source[0] = text + "\n" + "".join(source[0].partition("```{toctree}")[1:])
    source[0] = LINK.sub(lambda link: link[2] if (DOCS / link[3]).is_dir() else link[0], source[0])


def _from_docs(path: str) -> str:
    """A link of a file of the root, as a page of docs/ has it."""
    pages = {file: f"{page}.md" for page, file in COPIED.items()}
    return pages.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else f"../{path}")


class Fetched(HTMLParser):
    """The addresses that a browser fetches by itself when it opens a page."""

    def __init__(self, page: str):
        super().__init__()
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "a":
            self.addresses += [value for name, value in attrs if name in ("src", "href", "srcset", "data") and value]


def check_offline(app: Any, error: Exception | None) -> None:
    """Raise for pages and styles that would fetch something from a network."""
    if error is not None or app.builder.format != "html":
        return
    found = []
    for path in Path(app.outdir).rglob("*.html"):
        found += [(path, address) for address in Fetched(path.read_text()).addresses]
    for path in Path(app.outdir).rglob("*.css"):
        found += [(path, address) for address in re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')]+)", path.read_text())]
    remote = sorted({f"{path.name}: {address}" for path, address in found if re.match(r"(https?:)?//", address)})
    if remote:
        raise RuntimeError(f"pages that need a network: {'; '.join(remote)}")


def setup(app: Any) -> None:
    app.connect("source-read", read_source)
    app.connect("build-finished", check_offline)
