"""An object store that speaks Amazon's S3 protocol, served by moto on this machine."""

import logging
import threading
from collections.abc import Iterator

import pytest


class Server:
    """moto's S3 behind a lock, since a request is one step at Amazon's and moto's own threads interleave.

    Attributes:
        lost: How many answers to writes are lost: what they wrote is there, and the client hears of an error.
    """

    def __init__(self):
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

        self.lost = 0
        self._application, self._lock = DomainDispatcherApplication(create_backend_app), threading.Lock()

    def __call__(self, environ, start_response):
        with self._lock:
            if environ["REQUEST_METHOD"] != "PUT" or not self.lost:
                return list(self._application(environ, start_response))
            self.lost -= 1
            list(self._application(environ, lambda *_: None))
            start_response("503 Service Unavailable", [("Content-Length", "0")])
            return []


@pytest.fixture(scope="session")
def s3_server() -> Iterator[Server]:
    """The server; this process and those that it starts find it by their environment."""
    for package in ("s3fs", "moto", "flask", "flask_cors"):
        pytest.importorskip(package, reason="needs the extras s3 and s3-server")
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    application = Server()
    server = make_server("127.0.0.1", 0, application, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "test")
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "HTTP_PROXY", "http_proxy"):
            patch.delenv(name, raising=False)
        yield application
    server.shutdown()


@pytest.fixture
def s3(s3_server, tmp_path) -> str:
    """The address of an empty bucket."""
    import s3fs

    bucket = f"lab-{abs(hash(tmp_path)):x}"
    s3fs.S3FileSystem().mkdir(bucket)
    return f"s3://{bucket}"
