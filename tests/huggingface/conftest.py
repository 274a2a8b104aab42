"""The slow tests of synthlab.huggingface are of models of Transformers, tiny ones with random weights."""

from importlib.util import find_spec

import pytest


def pytest_runtest_setup(item):
    if item.get_closest_marker("slow") and find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
