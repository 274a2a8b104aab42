"""The wheel: what a user installs without a checkout."""

import subprocess
import sys
import zipfile
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from synthlab.cli.commands import GROUP, commands

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


def python(installed: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    # -P and no editable install on the path: only what the wheel holds can be imported.
    code = (
        "import sys, runpy; sys.path[:] = [p for p in sys.path if p and p != sys.argv[1]];"
        "sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in repr(f).lower()];"
        "sys.path.insert(0, sys.argv[2]); sys.argv = sys.argv[3:]; runpy.run_module(sys.argv[0], run_name='__main__')"
    )
    command = [sys.executable, "-P", "-c", code, str(ROOT), str(installed), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd, check=False)


def test_the_wheel_holds_packages_and_configs(installed):
    names = {path.relative_to(installed).as_posix() for path in installed.rglob("*") if path.is_file()}
    for name in (
        "synthlab/__main__.py",
        "synthlab/py.typed",
        "experiments/__main__.py",
        "synthlab/studies/report.html.j2",
        "experiments/output_alignment/deviations.yaml",
        "synthlab/studies/page.html.j2",
        "theory/propositions/theorem1.py",
        "theory/theory.html.j2",
        "theory/theory.tex.j2",
        "synthlab/language/languages.py",
        "experiments/long_short_alignment/deviations.yaml",
        "classroom/server.html.j2",
        "classroom/walkthrough.html.j2",
        "synthlab/conf/run.yaml",
        "hydra_plugins/synthlab_ray/launcher.py",
        "hydra_plugins/synthlab_sweeper/sweeper.py",
    ):
        assert name in names
    in_checkout = {path.relative_to(ROOT / "conf").as_posix() for path in (ROOT / "conf").rglob("*.yaml")}
    assert {name.removeprefix("synthlab/conf/") for name in names if name.startswith("synthlab/conf/")} == in_checkout
    assert not any(name.startswith("tests/") for name in names)


def test_the_wheel_offers_every_subcommand(installed):
    (metadata,) = installed.glob("synthlab-*.dist-info")
    assert {entry.name: entry.value for entry in PathDistribution(metadata).entry_points.select(group=GROUP)} == {
        name: entry.value for name, entry in commands().items()
    }


@pytest.mark.slow
def test_an_installed_wheel_trains_and_draws(installed, tmp_path):
    quick = ["protocol.steps=2", "protocol.batch=2", "evaluation.sequences=4", f"results={tmp_path}/results"]
    run = python(installed, "synthlab", "task=sum", *quick, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    figure = python(installed, "experiments", "figure=1", "seeds=1", "workers=1", *quick, cwd=tmp_path)
    assert figure.returncode == 0, figure.stderr
    assert (tmp_path / "results" / "figures" / "figure1.png").exists()


def test_an_installed_wheel_takes_a_users_config_dir(installed, tmp_path):
    (tmp_path / "mine" / "protocol").mkdir(parents=True)
    lab = (ROOT / "conf" / "protocol" / "lab.yaml").read_text()
    (tmp_path / "mine" / "protocol" / "tiny.yaml").write_text(lab.replace("steps: 2000", "steps: 3"))
    done = python(installed, "synthlab", "--config-dir", "mine", "protocol=tiny", "--cfg", "job", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "steps: 3\n" in done.stdout


def test_the_config_found_is_the_wheels_own(installed, tmp_path):
    (tmp_path / "where.py").write_text(
        "import synthlab.config.composition; print(synthlab.config.composition.conf_dir())"
    )
    code = python(installed, "where", cwd=tmp_path)
    assert code.returncode != 0  # the working directory is not on the path, so this cannot be found ...
    (installed / "where.py").write_text((tmp_path / "where.py").read_text())
    assert python(installed, "where", cwd=tmp_path).stdout.strip() == str(installed / "synthlab" / "conf")
