"""The page's web application: it answers to this machine's names only, and to no page of another site."""

import socket
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from bokeh.application import Application
from bokeh.server.tornado import BokehTornado
from tornado.httputil import HTTPServerRequest
from tornado.web import RequestHandler

from synthlab.output import tell

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Site(BokehTornado):
    """A Bokeh application that refuses requests under other names than ``names``, and from other sites' pages.

    The check of the name keeps out a site that points its own name at this machine (DNS rebinding): the browser would
    take it for this page. ``any_address`` allows all IP addresses as well, which cannot be pointed elsewhere.
    """

    def __init__(self, application: Application, names: tuple[str, ...], any_address: bool, **options: Any):
        self.names, self.any_address = names, any_address
        self.refused = set[str]()
        # ``find_handler`` checks the origin of every request, not only of sockets as Bokeh does.
        super().__init__({"/": application}, extra_websocket_origins=["*"], **options)

    def find_handler(self, request: HTTPServerRequest, **how: Any) -> Any:
        """Return the handler of a request; for one to refuse, a handler that says why. Each reason is printed once."""
        line = self._problem(request)
        if line is None:
            return super().find_handler(request, **how)
        if line not in self.refused:
            self.refused.add(line)
            tell(f"error: {line}")
        return self.get_handler_delegate(request, _Refusal, {"line": line})

    def _problem(self, request: HTTPServerRequest) -> str | None:
        if request.host_name not in self.names and not (self.any_address and _is_address(request.host_name)):
            known = ", ".join([*self.names, *["this machine's IP addresses"] * self.any_address])
            return f"Host={request.host}: unknown name; this page answers to {known}; address=NAME allows another"
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc.lower() != request.host.lower():
            return f"Origin={origin}: is another site; only the page at http://{request.host}/ may ask"
        return None


class _Refusal(RequestHandler):
    """Answers every request with status 403 and one line."""

    def initialize(self, line: str) -> None:
        self.line = line

    def prepare(self) -> None:
        self.set_status(403)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{self.line}\n")


def find_names(address: str, local: bool) -> tuple[str, ...]:
    """Return the names of a page served on ``address``; unless it is ``local``, with those of this machine."""
    here = socket.gethostname().lower()
    others = () if local else (here, f"{here.partition('.')[0]}.local")
    return tuple(dict.fromkeys((*LOOPBACK, address.lower(), *others)))


def _is_address(name: str) -> bool:
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
