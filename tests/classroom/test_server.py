"""The server: whom it lets in, what it refuses, what it leaves behind."""

import asyncio
import re
import socket
from types import SimpleNamespace
from urllib.request import urlopen

import psutil
import pytest
from tornado.httpclient import AsyncHTTPClient, HTTPResponse

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


@pytest.mark.parametrize(
    ("address", "host", "origin", "status"),
    [
        *(("127.0.0.1", name, None, 200) for name in ("127.0.0.1", "LOCALHOST", "[::1]")),
        ("127.0.0.1", "localhost", "http://localhost", 200),
        ("127.0.0.1", "127.0.0.1.rebound.example", None, 403),  # another site's name, pointed at this machine
        ("127.0.0.1", "192.0.2.7", None, 403),  # only this machine can open the page
        ("127.0.0.1", "localhost", "http://elsewhere.example", 403),
        ("127.0.0.1", "localhost", "null", 403),  # a file, or a frame without rights
        *(("0.0.0.0", name, None, 200) for name in ("192.0.2.7", "[2001:db8::7]", socket.gethostname())),
        ("0.0.0.0", "rebound.example", "http://rebound.example", 403),
        ("0.0.0.0", "192.0.2.7", "http://elsewhere.example", 403),
    ],
)
@pytest.mark.parametrize("path", ["", "ws"])
def test_only_names_of_this_machine_are_answered(address, host, origin, status, path, capsys):
    async def ask() -> HTTPResponse:
        port = server._free_port(SimpleNamespace(address=address, port=0))
        pages = server._server(address, port, SimpleNamespace(fill=lambda document: None), server._is_local(address))
        pages.start()
        headers = {"Host": f"{host}:{port}"} | ({"Origin": f"{origin}:{port}"} if origin else {})
        try:
            return await AsyncHTTPClient().fetch(f"http://127.0.0.1:{port}/{path}", headers=headers, raise_error=False)
        finally:
            pages.stop()

    answer = asyncio.run(ask())
    assert answer.code == (status if status == 403 or path != "ws" else 400)  # 400: it asks for no socket
    if status == 403:
        line = answer.body.decode()
        assert line.startswith(("Host=rebound", "Host=127.0.0.1.rebound", "Host=192.0.2.7", "Origin="))
        assert capsys.readouterr().err == f"error: {line}"
