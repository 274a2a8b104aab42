"""The README and the pages of the site: generated tables, links, length."""

import re
from pathlib import Path

import pytest

from experiments.committed_verdicts import CLAIMS, read_text
from experiments.messages import MOST_BYTES
from experiments.papers import papers
from experiments.reference import FILES, REFERENCE, ROOT, blocks, make_files, pages, renew_page

TEXTS = [*pages(), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


@pytest.fixture(scope="module")
def tables() -> dict:
    return blocks()


@pytest.mark.slow
@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_generated_tables_are_those_of_the_reference_run(page, tables):
    assert renew_page(page.read_text(), tables) == page.read_text(), "run make readme"


@pytest.mark.slow
def test_each_table_stands_on_one_page_or_is_a_file_and_none_is_empty(tables):
    text = "".join(page.read_text() for page in pages())
    files = make_files(tables)
    for path, table in files.items():
        assert path.read_text() == table, "run make readme"
    for block, rows in tables.items():
        assert rows
        on_pages = 0 if FILES / f"{block}.csv" in files else 1
        assert text.count(f"<!-- {block} -->") == text.count(f"<!-- /{block} -->") == on_pages, block


def test_the_page_of_tables_shows_each_file():
    shown = re.findall(r":file: tables/(\w+\.csv)", (REFERENCE / "tables.md").read_text())
    assert sorted(shown) == sorted(path.name for path in FILES.iterdir())


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_tables_are_whole(page):
    """Each row is a line of its own with as many cells as the header, and a table has a rule under its header."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for table in re.findall(r"(?:^ *\|.*\n)+", text, flags=re.MULTILINE):
        rows = table.splitlines()
        assert re.fullmatch(r" *\|( *:?-+:? *\|)+", rows[1]), table
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {rows[1].count("|")}, table
    assert not [line for line in text.splitlines() if re.match(r" *[^| ].*\| *:?-{3}", line)]


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_no_line_is_a_comment_to_the_site(page):
    assert not [line for line in page.read_text().splitlines() if line.startswith("%")]


def test_the_table_of_folders_names_files_that_exist():
    table = (ROOT / "docs" / "how_it_works.md").read_text().partition("## Layout")[2].partition("## ")[0]
    for row in re.findall(r"^\| `.*", table, flags=re.MULTILINE):
        folder, content = row[1:].split("|", 1)
        folder = folder.strip(" `").removesuffix("PAPER/")
        for path in ["", *re.findall(r"`([\w/]+(?:\.py|/))`", content)]:
            assert (ROOT / folder / path).exists(), folder + path


def test_the_readme_has_at_most_110_lines():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 110


def test_the_docs_have_at_most_18_pages():
    copies = {"contributing.md", "changelog.md"}  # the site fills them from files of the root
    assert len({page.name for page in (ROOT / "docs").glob("*.md")} - copies) <= 18


def test_the_docs_have_at_most_25_000_words():
    read = (re.sub(r"```{csv-table}.*?```", "", page.read_text(), flags=re.DOTALL) for page in pages())
    assert sum(len(text.split()) for text in read) <= 25_000


@pytest.mark.parametrize("name", [name for name in papers() if (REFERENCE / name).exists()])
def test_committed_verdicts_have_the_statements_of_their_claims(name):
    claims = {claim.name: claim.statement for claim in papers()[name]().claims.values()}
    committed = read_text(REFERENCE / name / CLAIMS).drop_duplicates("claim").set_index("claim")["says"]
    assert len(committed)
    for claim, says in committed.items():
        assert says == claims[claim], f"{claim}: run make readme"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for path in re.findall(r"(?:\]\(|src=\")(?!https?:)([^)#\"\s]+)", page.read_text()):
        assert (page.parent / path).exists(), path
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*\.md|)#([^)\s]+)\)", page.read_text()):
        target = page.parent / path if path else page
        assert anchor in anchors(target), f"{path}#{anchor}"


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub and the site name them in links."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_reference_is_small():
    text = "".join(page.read_text() for page in pages())
    pictures = list(REFERENCE.rglob("*.png"))
    assert pictures
    assert all(picture.relative_to(REFERENCE.parent).as_posix() in text for picture in pictures)
    assert all(picture.stat().st_size < MOST_BYTES for picture in pictures)
    assert sum(path.stat().st_size for path in REFERENCE.rglob("*.*")) < 6_000_000
