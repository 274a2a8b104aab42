"""The page in a real browser: headless Chromium, driven as a class would."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from urllib.request import urlopen

import pytest

from support.browser import PATIENCE, PHONE, SIZES, Visitor, open_chromium
from support.server import served

pytestmark = pytest.mark.browser
LESSONS = {
    "Mean works": 1,
    "Length fails": 1,
    "1/x mends most": 2,
    "Which encoding?": 4,
    "The sum": 2,
    "Train longer": 4,
    "In theory": 1,
}
PLACE = """([x, y]) => {
    const view = Bokeh.index.find_one_by_id(Bokeh.documents[0].get_model_by_name("chart_log").id)
    const box = view.el.getBoundingClientRect()
    return [box.left + view.frame.x_scale.compute(x), box.top + view.frame.y_scale.compute(y)]
}"""
BOXES = """(names) => names.map((name) => {
    const model = Bokeh.documents[0].get_model_by_name(name)
    const box = Bokeh.index.find_one_by_id(model.id).el.getBoundingClientRect()
    return [name, box.left, box.top, box.right, box.bottom]
})"""
# Of the lesson "1/x mends most".
CHARTS = [f"chart_{name}" for name in ("linear", "losses", "answers", "plain", "mapped")]
FOCUSED = """() => {
    let e = document.activeElement
    while (e && e.shadowRoot && e.shadowRoot.activeElement) e = e.shadowRoot.activeElement
    return e ? (e.labels && e.labels[0] ? e.labels[0].innerText : e.innerText || e.className) : ""
}"""


@pytest.fixture(scope="module")
def browser():
    with open_chromium() as found:
        yield found


@pytest.fixture(scope="module")
def server(browser, tmp_path_factory) -> Iterator[subprocess.Popen[str]]:
    """The page, served as a user would; in the end nothing was printed but its address, and it closes."""
    errors = tmp_path_factory.mktemp("classroom") / "stderr"
    command = [sys.executable, "-m", "classroom", "port=0", "open=false"]
    with errors.open("w") as stderr:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        yield server
        assert server.poll() is None
        server.send_signal(signal.SIGTERM)
        try:
            assert server.wait(10) == 0
        finally:
            server.kill()
            server.wait()
            server.stdout.close()
    assert errors.read_text() == ""


@pytest.fixture(scope="module")
def address(server) -> str:
    return re.search(r"http://127\.0\.0\.1:\d+/", server.stdout.readline()).group()


@pytest.fixture
def visit(browser, address) -> Iterator[Callable[..., Visitor]]:
    visitors: list[Visitor] = []

    def visit(size: tuple[int, int] = SIZES["laptop"]) -> Visitor:
        visitors.append(Visitor(browser, address, size))
        return visitors[-1]

    yield visit
    for visitor in visitors:
        visitor.context.close()
    assert [trouble for visitor in visitors for trouble in visitor.troubles()] == []


def test_every_lesson_draws_curves_that_move_and_says_what_was_seen(visit):
    window = visit()
    for name, runs in LESSONS.items():
        window.button("Clear").click()
        window.until(lambda: window.curves() == [], "no curves")
        window.button(name).click()
        window.until(lambda: any(window.curves()), f"a curve of {name}")
        before, told = window.curves()[0], window.text("story")
        window.until(lambda before=before: window.curves()[0] != before, f"a curve of {name} that moves")
        window.idle(runs + (name == "In theory"))
        assert all(len(curve) == 50 for curve in window.curves())
        assert len(window.curves()) == runs + (name == "In theory")
        assert window.text("story") != told
        assert window.text("message") == ""


def test_two_windows_do_not_disturb_each_other(visit):
    first, second = visit(), visit()
    first.button("Length fails").click()
    second.button("Mean works").click()
    for window in (first, second):
        window.idle(1)
    assert "length, NoPE" in first.text("listed")
    assert "mean, NoPE" in second.text("listed")
    assert "mean" not in first.text("listed")
    assert first.curves()[0][-1] > 100 > 0.01 > second.curves()[0][-1]
    alone = visit()
    alone.button("Length fails").click()
    alone.idle(1)
    assert alone.curves() == first.curves()  # the same run says the same beside others


def test_one_window_more_than_there_is_room_for_waits_until_another_is_closed(browser):
    with served("windows=1") as (_, address):
        first = Visitor(browser, address)
        first.button("Mean works").click()
        first.idle(1)
        second = Visitor(browser, address)
        second.until(lambda: "(windows=1)" in second.text("message"), "a word on other windows")
        first.context.close()
        deadline = time.monotonic() + PATIENCE
        while second.text("message") and time.monotonic() < deadline:
            time.sleep(2)
            second.button("Mean works").click()
        second.idle(1)
        second.context.close()


def test_pages_that_no_browser_shows_take_no_process(browser):
    with served("windows=2") as (_, address):
        for _ in range(5):
            urlopen(address).read()
        window = Visitor(browser, address)
        window.button("Mean works").click()
        window.idle(1)
        assert window.text("message") == ""
        window.context.close()


def test_ticks_are_pressed_by_their_words(visit):
    window = visit()
    window.button("In theory").click()
    window.idle(2)  # the run and, in the list, theory
    assert window.control("theory").is_checked()
    window.page.locator("label", has_text="theory").click()
    window.until(lambda: len(window.curves()) == 1, "no theory")
    window.page.locator("label", has_text="linear scale").click()
    shown = "(name) => Bokeh.documents[0].get_model_by_name(name).visible"
    window.until(lambda: window.page.evaluate(shown, "chart_linear"), "a linear scale")
    assert not window.page.evaluate(shown, "chart_log")


def test_pointing_at_a_faded_curve_names_it(visit):
    window = visit()
    window.button("Length fails").click()
    window.idle(1)
    window.button("Mean works").click()
    window.idle(2)
    time.sleep(1)  # what was drawn last
    x, y = window.page.evaluate(PLACE, [30, window.curves()[0][29]])
    window.page.mouse.move(x - 20, y)
    window.page.mouse.move(x, y)
    said = window.page.locator(".tip", has_text="length, NoPE")
    said.first.wait_for()
    assert re.search(r"length of the test sequences 30: mean squared error [\d.e+]+$", said.first.inner_text())


def test_the_keyboard_alone_will_do(visit):
    window = visit()
    keys = window.page.keyboard

    def go_to(text: str) -> None:
        for _ in range(60):
            keys.press("Tab")
            if text in window.page.evaluate(FOCUSED):
                return
        raise AssertionError(f"no way to {text!r} by Tab")

    go_to("Length fails")
    keys.press("Enter")
    window.idle(1)
    go_to("seed")
    keys.press("Control+A")
    keys.type("3")
    keys.press("Shift+Tab")
    window.button("Train").focus()
    keys.press("Space")
    window.idle(2)
    assert "seed 3" in window.text("listed")
    window.button("Length fails").focus()
    go_to("0s and 1s")
    keys.press("Control+A")
    keys.type("01")
    go_to("noUi-handle")
    for _ in range(5):
        keys.press("ArrowRight")
    window.until(lambda: "0101010101" in window.text("answer"), "the typed sequence")
    window.until(lambda: "15 symbols, longer than any" in window.text("answer"), "a length of 15")
    keys.press("End")
    window.until(lambda: "50 symbols" in window.text("answer"), "the end")


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_everything_fits_and_can_be_read(visit, size):
    window = visit(size)
    window.button("1/x mends most").click()
    window.idle(2)
    page, (width, height) = window.page, size
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = page.evaluate(BOXES, [*CHARTS, "sequence", "length", "text_answer"])
    for name, left, top, right, bottom in boxes:
        assert 0 <= left < right <= width, name
        assert 0 <= top < bottom <= height, name
        if name in CHARTS:
            assert right - left >= 200, name
            assert bottom - top >= 200, name
    sizes = page.evaluate(
        """() => Array.from(Bokeh.documents[0].all_models)
                 .map((model) => model.major_label_text_font_size).filter((size) => size !== undefined)"""
    )
    assert sizes
    assert all(int(size.removesuffix("px")) >= 15 for size in sizes)


def test_a_phone_has_one_column(visit):
    window = visit(PHONE)
    window.button("1/x mends most").click()
    window.idle(2)
    assert window.page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    boxes = window.page.evaluate(BOXES, [*CHARTS, "chart_sequence", "chart_attention", "chart_added"])
    for (name, left, top, right, bottom), (*_, below, _, _) in zip(boxes, [*boxes[1:], [0, 0, 1e9, 0, 0]], strict=True):
        assert 0 <= left < right <= PHONE[0], name
        assert top + 200 <= bottom <= below, name


def test_bad_input_is_answered_in_the_page_and_the_page_goes_on(visit):
    window = visit()
    for label, text in (("seed", ""), ("width", "9" * 300), ("steps", "many"), ("test length", "-1")):
        was = window.control(label).input_value()
        window.control(label).fill(text)
        window.button("Train").click()
        window.until(lambda label=label: f"{label}: " in window.text("message"), f"an answer to {label}={text[:9]}")
        assert "Traceback" not in window.text("message")
        window.control(label).fill(was)
    window.control("model").select_option(label="linear attention")
    window.control("encoding").select_option(label="RoPE")
    window.button("Train").click()
    window.until(
        lambda: "linear attention has none; choose NoPE" in window.text("message"), "what linear attention has not"
    )
    window.control("model").select_option(label="Transformer")
    window.button("Train").click()
    window.idle(1)
    for typed in ("", "hello", "<img src=x onerror=alert(1)>", "0" * 10_000):
        window.control("0s and 1s, repeated to any length").fill(typed)
        window.until(lambda: "sequence: " in window.text("typed"), f"an answer to {typed[:9]}")
        window.control("0s and 1s, repeated to any length").fill("01")
        window.until(lambda: window.text("typed") == "", "the end of a complaint")


def test_a_process_that_is_killed_costs_one_line_and_no_more(visit, server):
    import psutil

    window = visit()
    window.control("steps").fill("50000")
    window.button("Train").click()
    window.until(lambda: any(window.curves()), "a curve")
    for each in psutil.Process(server.pid).children():  # the window's, and the spare one for the next window
        if "spawn_main" in " ".join(each.cmdline()):
            each.kill()
    window.until(lambda: "has ended" in window.text("message"), "a word on what happened")
    window.control("steps").fill("100")
    window.button("Train").click()
    window.until(lambda: window.text("message") == "", "the end of a complaint")
    window.idle(2)
