"""The page's own settings and lessons, and a window of it."""

import pytest
from omegaconf import OmegaConf

from classroom.choices import Chooser
from classroom.lessons import Lessons
from classroom.server import Settings, read_config
from support.fake_page import Window
from synthlab.runs.composition import conf_dir


@pytest.fixture(scope="session")
def config() -> tuple[Settings, Lessons]:
    raw = OmegaConf.to_container(OmegaConf.load(conf_dir() / "classroom.yaml"))
    return read_config({key: value for key, value in raw.items() if key not in ("defaults", "hydra")})


@pytest.fixture(scope="session")
def chooser(config) -> Chooser:
    settings, lessons = config
    return Chooser(lessons, settings.limits)


@pytest.fixture
def window(config, chooser) -> Window:
    return Window(config, chooser)
