"""The server: whom it lets in, what it refuses, what it leaves behind."""

import asyncio
import re
import socket
from types import SimpleNamespace
from urllib.request import urlopen

import psutil
import pytest
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest, HTTPResponse
from tornado.websocket import websocket_connect

from classroom import server
from classroom.server import Staff
from support.puppets import Puppet
from support.server import served
from synthlab.config.composition import conf_dir
from synthlab.errors import InputError


@pytest.mark.parametrize(
    ("argument", "line"),
    [
        *((f"{key}={10**30}", f"{key}={10**30}: must be less than") for key in ("windows", "curves", "sequence")),
        ("address=nowhere.invalid", "address=nowhere.invalid"),
        ("lessons.mean.runs=[{inputs.p: 0.3}]", "lessons.mean.runs: inputs.p is not one of the page's controls"),
        ("lessons.mean.runs=[{seed: abc}]", "lessons.mean.runs: seed: abc is not valid"),
        ("-m", "-m: the page is not swept"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(invoke, monkeypatch, argument, line):
    monkeypatch.setattr(server, "Worker", Puppet)
    outcome = invoke("classroom", "open=false", argument)
    assert outcome.status == 2
    assert line in outcome.err
    assert outcome.err.count("\n") == 1
    assert outcome.out == ""


def test_a_port_that_is_taken_is_named(invoke, monkeypatch):
    monkeypatch.setattr(server, "Worker", Puppet)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = invoke("classroom", "open=false", f"port={port}")
    assert outcome.status == 2
    assert f"port={port}: cannot be served on address=127.0.0.1 (address already in use)" in outcome.err


def test_the_next_window_finds_a_warm_process_and_no_more_are_kept_than_are_needed(monkeypatch):
    started: list[Puppet] = []
    monkeypatch.setattr(server, "Worker", lambda: started.append(Puppet()) or started[-1])
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


@pytest.mark.parametrize(
    ("address", "is_local"),
    [("127.0.0.1", True), ("127.0.0.2", True), ("localhost", True), ("0.0.0.0", False), ("example.org", False)],
)
def test_what_this_machine_alone_can_reach_is_known(address, is_local):
    assert server._is_local(address) is is_local


@pytest.mark.slow
def test_the_page_is_served_to_this_machine_alone_and_asks_for_nothing_elsewhere():
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


@pytest.mark.slow
def test_elsewhere_is_warned_of():
    with served("address=0.0.0.0") as (process, _):
        pass
    assert process.err.startswith("warning: address=0.0.0.0: whoever can reach this machine can now train on it\n")
    assert process.returncode == 0


HERE = socket.gethostname()


@pytest.mark.parametrize(
    ("address", "host", "origin", "status"),
    [
        *(("127.0.0.1", name, None, 200) for name in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]")),
        ("127.0.0.1", "localhost", "http://localhost", 200),
        ("127.0.0.1", "rebound.example", "http://rebound.example", 403),  # another site's name, pointed at this machine
        ("127.0.0.1", "127.0.0.1.rebound.example", None, 403),
        ("127.0.0.1", "192.0.2.7", None, 403),  # only this machine can open the page
        ("127.0.0.1", "localhost", "http://elsewhere.example", 403),
        ("127.0.0.1", "localhost", "null", 403),  # a file, or a frame without rights
        *(("0.0.0.0", name, None, 200) for name in ("localhost", "192.0.2.7", "[2001:db8::7]", HERE)),
        ("0.0.0.0", "rebound.example", "http://rebound.example", 403),
        ("0.0.0.0", "192.0.2.7", "http://elsewhere.example", 403),
    ],
)
@pytest.mark.parametrize("path", ["", "autoload.js?bokeh-autoload-element=1", "ws"])
def test_only_names_of_this_machine_and_its_own_page_are_answered(address, host, origin, status, path, capsys):
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


@pytest.mark.slow
def test_pages_of_other_sites_are_not_let_in():
    async def knock(url: str, **headers: str) -> None:
        (await websocket_connect(HTTPRequest(url, headers=headers))).close()

    with served() as (process, address):
        socket_url = address.replace("http", "ws") + "ws"
        with pytest.raises(HTTPClientError, match="403"):
            asyncio.run(knock(socket_url, Origin="http://elsewhere.example"))
        for _ in range(2):
            with pytest.raises(HTTPClientError, match="403"):
                asyncio.run(knock(socket_url, Host="rebound.example:80", Origin="http://rebound.example:80"))
    first, second = process.err.splitlines()
    assert first.startswith("error: Origin=http://elsewhere.example: is another site")
    assert second.startswith("error: Host=rebound.example:80: unknown name")


def test_a_story_of_ones_own_takes_the_place_of_the_labs(invoke, tmp_path):
    story = (conf_dir() / "story" / "lengths.yaml").read_text().replace("button: Mean works", "button: My lesson")
    (tmp_path / "story").mkdir()
    (tmp_path / "story" / "mine.yaml").write_text(story)
    outcome = invoke("classroom", "--config-dir", str(tmp_path), "story=mine", "--cfg", "job")
    assert "button: My lesson" in outcome.out
    assert "Mean works" not in outcome.out
