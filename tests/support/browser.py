"""A visitor of the page, in Chromium."""

import importlib.util
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlparse

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = 90.0  # seconds; a page that takes longer hangs
# What the curves of a chart hold, by run; what a widget's text says.
CURVES = """
() => Bokeh.documents[0].get_model_by_name("chart_log").renderers
        .filter((r) => r.glyph.type === "Line").map((r) => Array.from(r.data_source.data.y))
"""
TEXT = "(name) => Bokeh.documents[0].get_model_by_name('text_' + name).text"


@contextmanager
def open_chromium() -> Iterator[Any]:
    """Headless Chromium; a test without it or without Playwright is skipped."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium, such as Debian's package chromium")
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("needs Playwright: make test-browser installs it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visitor:
    """A window of the browser, and all that it said and asked for."""

    def __init__(self, browser, address: str):
        self.said: list[str] = []
        self.hosts: set[str | None] = set()
        self.context = browser.new_context(viewport={"width": 1366, "height": 768})
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("request", lambda request: self.hosts.add(urlparse(request.url).hostname))
        self.page.on("websocket", lambda socket: self.hosts.add(urlparse(socket.url).hostname))
        self.page.goto(address)
        self.button("Train").wait_for()

    def button(self, name: str):
        return self.page.get_by_role("button", name=name, exact=True)

    def control(self, label: str):
        return self.page.get_by_label(label, exact=True)

    def curves(self) -> list[list[float]]:
        return self.page.evaluate(CURVES)

    def text(self, name: str) -> str:
        return self.page.evaluate(TEXT, name)

    def until(self, holds: Callable[[], bool], what: str) -> float:
        """Wait until something holds; returns after how many seconds it did."""
        began = time.monotonic()
        while time.monotonic() - began < PATIENCE:
            if holds():
                return time.monotonic() - began
            time.sleep(0.02)
        raise AssertionError(f"not within {PATIENCE} s: {what}; the page says {self.text('message')!r}")

    def idle(self, curves: int) -> None:
        def ended() -> bool:
            listed = self.text("listed")
            return listed.count("<li ") == curves and not re.search(r"step \d+ of|starting", listed)

        self.until(ended, f"{curves} runs at their end")

    def troubles(self) -> list[str]:
        """What no page should have: complaints in the console, requests that leave the machine."""
        loud = [line for line in self.said if line.startswith(("error", "warning"))]
        return loud + [f"request to {host}" for host in self.hosts - {"127.0.0.1", None}]
