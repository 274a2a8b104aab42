"""The page's server: each window has its own page; one process serves all of them and computes nothing."""

import logging
import os
import signal
import socket
import sys
import webbrowser
from collections.abc import Mapping
from errno import EADDRINUSE
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any

from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.core.templates import get_env
from bokeh.core.validation import silence
from bokeh.core.validation.warnings import MISSING_RENDERERS
from bokeh.document import Document
from bokeh.server.server import Server
from pydantic import BaseModel, Field
from tornado.ioloop import IOLoop

from classroom.choices import Chooser, Limit
from classroom.lessons import Lessons
from classroom.page import Options, Page
from classroom.worker import Worker
from synthlab.errors import InputError
from synthlab.output import print_err, print_out
from synthlab.runs.registry import STRICT, validate
from synthlab.runs.run import Count, Length

silence(MISSING_RENDERERS)  # charts are empty until something is trained
TEMPLATE = Path(__file__).with_name("server.html.j2")


class Settings(BaseModel):
    """The settings of the server; ``conf/classroom.yaml`` describes each key."""

    model_config = STRICT
    story: str | None
    address: Annotated[str, Field(min_length=1)]
    port: Annotated[int, Field(ge=0, le=65535)]
    open: bool
    windows: Count
    curves: Count
    sequence: Length
    limits: dict[str, Limit]


class Staff:
    """The training processes, one for each window, and a spare one for the next window."""

    def __init__(self, most: int):
        self.most = most
        self.spare: Worker | None = Worker()
        self.hired: list[Worker] = []

    def hire(self) -> Worker:
        """Return a process for a window, the spare one if it is alive. Raises InputError if all windows are taken."""
        if self._is_full():
            raise InputError(
                f"Other windows are open, as many as this page takes (windows={self.most}); "
                f"close one, wait ten seconds, and press again"
            )
        worker = self.spare if self.spare is not None and self.spare.is_alive else Worker()
        self.spare = None
        self.hired.append(worker)
        return worker

    def prepare(self) -> None:
        """Start the spare process for the next window, unless there is one or the limit is reached."""
        if self.spare is None and not self._is_full():
            self.spare = Worker()

    def _is_full(self) -> bool:
        self.hired = [worker for worker in self.hired if worker.is_alive]
        return len(self.hired) >= self.most

    def close(self) -> None:
        """End the spare process."""
        if self.spare is not None:
            self.spare.close()


class Classroom:
    """Makes a page for each window that opens, and ends its process when it closes."""

    def __init__(self, settings: Settings, lessons: Lessons):
        self.options, self.lessons = Options(settings.curves, settings.sequence), lessons
        self.chooser = Chooser(lessons, settings.limits)
        self.staff = Staff(settings.windows)
        # Bokeh's own environment, which has its macros.
        self.template = get_env().from_string("{% extends base %}\n" + TEMPLATE.read_text(encoding="utf-8"))

    def fill(self, document: Document) -> None:
        """Fill a new window."""
        document.title = "synthlab: the classroom"
        document.template = self.template
        document.template_variables["lessons"] = list(self.lessons.lessons)
        page = Page(document, self.staff.hire, self.chooser, self.lessons, self.options)

        def open_page(event: Any) -> None:
            page.open()
            # Not at once: starting a process would delay the first curve.
            IOLoop.current().call_later(5, self.staff.prepare)

        # A process only for a window that a browser shows, not for every request of the page.
        document.on_event("document_ready", open_page)
        document.on_session_destroyed(lambda context: page.close())


def serve(settings: Settings, lessons: Lessons) -> None:
    """Serve the page until Ctrl-C. Raises InputError if the address or the port cannot be used."""
    for name in ("", "bokeh"):
        logging.getLogger(name).setLevel(logging.ERROR)
    port = _free_port(settings)
    classroom = Classroom(settings, lessons)
    server = make_server(settings.address, port, Application(FunctionHandler(classroom.fill)))
    host = socket.gethostname() if settings.address == "0.0.0.0" else settings.address
    address = f"http://{host}:{port}/"
    if not _is_local(settings.address):
        print_err(f"warning: address={settings.address}: whoever can reach this machine can now train on it")
    print_out(f"The classroom is open: {address}", "Ctrl-C closes it.")
    server.start()
    if settings.open:
        server.io_loop.call_later(0.2, _open, address)
    for each in (signal.SIGINT, signal.SIGTERM):
        # Between two callbacks: KeyboardInterrupt would interrupt one, and is lost if that is a destructor.
        signal.signal(each, lambda *_: server.io_loop.add_callback(server.io_loop.stop))
    server.io_loop.start()
    classroom.staff.close()
    server.stop()
    print_out("", "The classroom is closed.")


def make_server(address: str, port: int, application: Application) -> Server:
    """Return a server that takes connections from pages under this machine's names only; unless it is local, any IP."""
    here = socket.gethostname().lower()
    others = [] if _is_local(address) else [here, f"{here.partition('.')[0]}.local", "*.*.*.*"]
    return Server(
        application,
        address=address,
        port=port,
        allow_websocket_origin=[f"{name}:{port}" for name in ("localhost", "127.0.0.1", address.lower(), *others)],
        # The session of a closed window ends soon, since its process uses memory.
        unused_session_lifetime_milliseconds=6_000,
        check_unused_sessions_milliseconds=2_000,
    )


def _is_local(address: str) -> bool:
    """Return True if only this machine can reach ``address``."""
    try:
        return address == "localhost" or ip_address(address).is_loopback
    except ValueError:
        return False


def _free_port(settings: Settings) -> int:
    """Return the port to serve on. Raises InputError for one that cannot be used."""
    try:
        with socket.create_server((settings.address, settings.port)) as probe:
            return probe.getsockname()[1]
    except OSError as error:
        reason = (error.strerror or str(error)).split(" (while")[0].lower()
        open_already = "; is the page open already? port=0 takes any free one" if error.errno == EADDRINUSE else ""
        raise InputError(
            f"port={settings.port}: cannot be served on address={settings.address} ({reason}){open_already}"
        ) from None


def _open(address: str) -> None:
    """Open the page in a browser, unless there is only a text browser."""
    if sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(address)


def read_config(raw: Mapping[str, Any]) -> tuple[Settings, Lessons]:
    """Return the settings and the lessons of a composed config. Raises InputError."""
    settings = validate(Settings, raw, "")
    return settings, Lessons.read(settings.story)
