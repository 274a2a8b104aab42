"""The wheel, which a user installs without a checkout, and the packages that it needs."""

import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The wheel, built and unpacked into a folder of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def python(installed: Path, *arguments: str, cwd: Path, without: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
    # -P and no editable install on the path: only what the wheel holds can be imported.
    code = (
        "import sys, runpy; sys.path[:] = [p for p in sys.path if p and p != sys.argv[1]];"
        f"sys.modules.update(dict.fromkeys({without!r}));"
        "sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in repr(f).lower()];"
        "sys.path.insert(0, sys.argv[2]); sys.argv = sys.argv[3:]; runpy.run_module(sys.argv[0], run_name='__main__')"
    )
    command = [sys.executable, "-P", "-c", code, str(ROOT), str(installed), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=cwd, check=False)


def test_the_wheel_holds_packages_and_configs(installed):
    names = {path.relative_to(installed).as_posix() for path in installed.rglob("*") if path.is_file()}
    in_checkout = {path.relative_to(ROOT).as_posix() for path in (ROOT / "synthlab").rglob("*") if path.suffix == ".j2"}
    assert {"synthlab/py.typed", "hydra_plugins/synthlab_ray.py", *in_checkout} <= names
    in_checkout = {path.relative_to(ROOT / "conf").as_posix() for path in (ROOT / "conf").rglob("*.yaml")}
    assert {name.removeprefix("synthlab/conf/") for name in names if name.startswith("synthlab/conf/")} == in_checkout
    in_packages = {
        path.relative_to(ROOT).as_posix()
        for package in ("experiments", "theory", "classroom")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    prefix = "synthlab/packages/"
    assert {name.removeprefix(prefix) for name in names if name.startswith(prefix)} == in_packages


# A package that a named one brings: what is imported, and by whose dependencies it is there.
BROUGHT = {"omegaconf": "hydra-core", "yaml": "hydra-core", "pydantic_core": "pydantic", "tornado": "bokeh"}
BROUGHT |= {"tokenizers": "transformers", "datasets": "lm_eval", "nltk": "lm_eval", "requests": "lm_eval"}
DISTRIBUTIONS = BROUGHT | {"PIL": "pillow", "hydra": "hydra-core", "x_transformers": "x-transformers"}


def test_every_package_that_is_imported_is_named_in_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [*project["dependencies"], *(each for extra in project["optional-dependencies"].values() for each in extra)]
    known = {re.match(r"[\w-]+", each)[0] for each in named}
    packages = ("synthlab", "experiments", "theory", "classroom", "hydra_plugins")
    imported = re.compile(r"^ *(?:import (\w+)|from (\w+)[\w.]* import )", re.MULTILINE)
    for path in (path for package in packages for path in (ROOT / package).rglob("*.py")):
        tops = {module or source for module, source in imported.findall(path.read_text())}
        for top in tops - {*packages, *sys.stdlib_module_names}:
            assert DISTRIBUTIONS.get(top, top) in known, f"{path}: {top}"


def test_with_an_address_no_link_of_the_index_page_is_relative(monkeypatch):
    monkeypatch.setenv("SYNTHLAB_ADDRESS", "https://example.org/lab")
    metadata: dict = {}
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))["IndexPage"]
    hook(str(ROOT), {}).update(metadata)
    targets = set(re.findall(r"\]\(([^)]+)\)", metadata["readme"]["text"]))
    assert not [target for target in targets if not target.startswith(("https://", "#"))]
    assert "https://example.org/lab/raw/main/docs/answers.svg" in targets
    assert "https://example.org/lab/blob/main/docs/tutorial.md" in targets
    assert metadata["urls"]["Repository"] == "https://example.org/lab"


@pytest.mark.slow
def test_an_installed_wheel_trains_and_draws(installed, tmp_path):
    quick = ["protocol.steps=2", "protocol.batch=2", "evaluation.sequences=4", f"results={tmp_path}/results"]
    run = python(installed, "synthlab", "task=sum", *quick, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    figure = python(installed, "synthlab", "figures", "figure=1", "seeds=1", "workers=2", *quick, cwd=tmp_path)
    assert figure.returncode == 0, figure.stderr
    assert (tmp_path / "results" / "output_alignment" / "figures" / "figure1.png").exists()


WING = ("transformers", "tokenizers", "accelerate", "peft", "bitsandbytes", "datasets", "lm_eval", "huggingface_hub")
EXTRA_OF = {"sympy": "theory", "mpmath": "theory", "latex2mathml": "theory", "bokeh": "demo"}


@pytest.mark.slow
def test_runs_need_no_extra(installed, tmp_path):
    without = (*WING, *EXTRA_OF, "PIL")
    quick = ["protocol.steps=2", "protocol.batch=2", "evaluation.sequences=4"]
    for task in ("sum", "copy", "text"):
        run = python(installed, "synthlab", f"task={task}", *quick, cwd=tmp_path, without=without)
        assert run.returncode == 0, run.stderr
    collected = python(installed, "synthlab", "collect", "--out", "x.csv", cwd=tmp_path, without=without)
    assert (collected.returncode, collected.stdout) == (0, "3 runs: x.csv\n"), collected.stderr


@pytest.mark.slow
def test_a_command_names_its_missing_extra(installed, tmp_path):
    done = python(installed, "synthlab", "theory", cwd=tmp_path, without=("sympy",))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: synthlab theory: needs sympy; pip install 'synthlab-lengths[theory]'\n"
