"""The server: whom it lets in, what it refuses, what it leaves behind."""

import asyncio
import re
import socket
from types import SimpleNamespace
from urllib.request import urlopen

import psutil
import pytest
from bokeh.application import Application
from bokeh.server.util import check_allowlist

from classroom import server
from classroom.server import Staff
from support.fake_page import FakeWorker
from support.server import served
from synthlab.errors import InputError


@pytest.mark.parametrize(
    ("argument", "line"),
    [
        ("windows=100000000000", "windows=100000000000: must be less than"),
        ("address=nowhere.invalid", "address=nowhere.invalid"),
        ("port=PORT", "port=PORT: cannot be served on address=127.0.0.1 (address already in use)"),
    ],
)
def test_bad_settings_are_refused_in_one_line(invoke, monkeypatch, argument, line):
    monkeypatch.setattr(server, "Worker", FakeWorker)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        outcome = invoke("classroom", "open=false", argument.replace("PORT", port))
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert line.replace("PORT", port) in outcome.err


def test_processes_are_kept_warm(monkeypatch):
    started: list[FakeWorker] = []
    monkeypatch.setattr(server, "Worker", lambda: started.append(FakeWorker()) or started[-1])
    staff = Staff(2)
    assert staff.hire() is started[0]
    staff.prepare()
    staff.prepare()
    assert len(started) == 2
    started[1].is_gone = True  # the spare one dies unseen
    assert staff.hire() is started[2]
    with pytest.raises(InputError, match="windows=2"):
        staff.hire()
    staff.prepare()  # there is no room for a third window
    assert len(started) == 3
    started[0].close()  # a window is closed
    staff.prepare()
    assert len(started) == 4
    staff.close()
    assert [each.is_closed for each in started] == [True, False, False, True]


@pytest.mark.slow
def test_the_page_is_served_to_this_machine_alone():
    with served() as (process, address):
        page = urlopen(address).read().decode()
        sources = re.findall(r"(?:src|href)=[\"']([^\"']+)", page)
        assert sources
        assert all(source.startswith(("/static/", "data:", "#")) for source in sources)
        listening = [each for each in psutil.Process(process.pid).net_connections() if each.status == "LISTEN"]
        assert {each.laddr.ip for each in listening} == {"127.0.0.1"}
        children = psutil.Process(process.pid).children(recursive=True)
        assert children
    assert process.returncode == 0
    assert process.err == ""
    assert psutil.wait_procs(children, timeout=10)[1] == []  # nothing is left behind


@pytest.mark.parametrize(("address", "others"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_only_pages_of_this_machine_can_connect(address, others):
    async def names() -> set[str]:
        port = server._free_port(SimpleNamespace(address=address, port=0))
        site = server.make_server(address, port, Application())
        hosts = ("localhost", "127.0.0.1", "192.0.2.7", socket.gethostname(), "rebound.example", "elsewhere.com")
        found = {host for host in hosts if check_allowlist(f"{host}:{port}".lower(), site._tornado.websocket_origins)}
        site.stop()
        return found

    expected = {"192.0.2.7", socket.gethostname()} if others else set()
    assert asyncio.run(names()) == expected | {"localhost", "127.0.0.1"}
