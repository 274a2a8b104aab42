import re
from importlib.util import find_spec

from experiments.reference import REFERENCE, ROOT, renewed


def test_the_readmes_tables_are_those_of_the_reference_run():
    readme = (ROOT / "README.md").read_text()
    assert renewed(readme) == readme, "run make readme"


def test_every_file_that_the_readme_links_to_exists():
    readme = (ROOT / "README.md").read_text()
    for path in re.findall(r"(?:\]\(|src=\")(?!https?:)([^)#\"]+)", readme):
        assert (ROOT / path).exists(), path


def test_the_reference_holds_each_sheet_and_the_csvs_of_its_panels():
    for folder in (REFERENCE, REFERENCE / "recipe"):
        tables = {path.stem for path in folder.glob("*.csv")} - {"claims"}
        sheets = {path.stem for path in folder.glob("*.png")}
        assert tables
        assert all(any(table.startswith(sheet) for sheet in sheets) for table in tables)


def test_every_module_that_make_runs_exists():
    modules = re.findall(r"python -m ([\w.]+)", (ROOT / "Makefile").read_text())
    assert {"experiments", "experiments.reference", "experiments.bench"} <= set(modules)
    assert all(find_spec(module) for module in modules)
