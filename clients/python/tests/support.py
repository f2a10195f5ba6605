"""Support of the tests: clients of the server at COLLOQUY_URL, a proxy that cuts connections, and a scripted server."""

import faulthandler
import json
import os
import socket
import threading
import unittest
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from colloquy import Client, Conversation, connect

URL = os.environ["COLLOQUY_URL"]
#: Time for which tests wait for a condition, s. A loaded machine may be slow.
PATIENCE = 90.0
#: Time after which a test counts as hanging, s.
HANG = 2 * PATIENCE


class ServerTest(unittest.TestCase):
    """A test with a tenant of its own."""

    def setUp(self) -> None:
        # Ends a test that hangs, and prints where.
        faulthandler.dump_traceback_later(HANG, exit=True)
        self.addCleanup(faulthandler.cancel_dump_traceback_later)
        self.tenant = uuid.uuid4().hex
        self.client = self.connect()

    def connect(self, url: str = URL, actor: str = "Zoë", timeout: float = 15, retry_for: float = PATIENCE) -> Client:
        client = connect(url, actor=actor, tenant=self.tenant, timeout=timeout, retry_for=retry_for)
        self.addCleanup(client.close)
        return client

    def create(self, key: str = "harbour") -> Conversation:
        return self.client.create_conversation(key=key, automatic_title=False)

    def proxy(self) -> "Proxy":
        proxy = Proxy()
        self.addCleanup(proxy.close)
        return proxy


class Proxy:
    """A TCP proxy before the server."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._connections: set[socket.socket] = set()
        self._is_refusing = False
        self._losses = 0
        #: Number of answers that were not delivered.
        self.lost = 0
        #: Number of connections that were accepted.
        self.accepted = 0
        #: Number of requests with a delta.
        self.deltas = 0
        #: Number of requests with an empty delta.
        self.heartbeats = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Close all open connections."""
        with self._condition:
            connections = list(self._connections)
        for connection in connections:
            _close(connection)

    def refuse(self) -> None:
        """Close all open connections, and each new one at once."""
        self._is_refusing = True
        self.cut()

    def restore(self) -> None:
        """Accept connections again."""
        self._is_refusing = False

    def lose_answers(self, count: int) -> None:
        """Close the connection when the server answers, in place of delivering the answer, `count` times."""
        self._losses = count

    def wait_for_heartbeats(self, count: int) -> None:
        """Wait until that many further heartbeats were sent."""
        with self._condition:
            wanted = self.heartbeats + count
            if not self._condition.wait_for(lambda: self.heartbeats >= wanted, PATIENCE):
                raise AssertionError(f"Only {self.heartbeats} of {wanted} heartbeats were sent.")

    def close(self) -> None:
        _close(self._listener)
        self.cut()

    def _accept(self) -> None:
        server = urlsplit(URL)
        with suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                if self._is_refusing:
                    _close(client)
                    continue
                upstream = socket.create_connection((str(server.hostname), server.port or 80))
                with self._condition:
                    self._connections |= {client, upstream}
                    self.accepted += 1
                for source, target, see in [(client, upstream, self._see), (upstream, client, self._lose)]:
                    threading.Thread(target=self._pump, args=(source, target, see), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, is_passed: Callable[[bytes], bool]) -> None:
        with suppress(OSError):
            while (data := source.recv(65_536)) and is_passed(data):
                target.sendall(data)
        _close(source)
        _close(target)
        with self._condition:
            self._connections -= {source, target}

    def _see(self, data: bytes) -> bool:
        with self._condition:
            self.deltas += data.count(b"/deltas HTTP/1.1")
            self.heartbeats += data.count(b'"text": ""')
            self._condition.notify_all()
        return True

    def _lose(self, data: bytes) -> bool:
        with self._condition:
            if self._losses == 0:
                return True
            self._losses -= 1
            self.lost += 1
            return False


def _close(connection: socket.socket) -> None:
    # Without shutdown, a thread that reads the socket would keep it open.
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


#: Status, headers and body of an answer.
Answer = tuple[int, dict[str, str], str]


def problem(status: int, code: str, **headers: str) -> Answer:
    """An answer of the REST API with an error."""
    body = {"title": "", "status": status, "detail": f"It failed with {code}.", "code": code}
    return status, {"Content-Type": "application/problem+json", **headers}, json.dumps(body)


def page_of_proxy(status: int, **headers: str) -> Answer:
    """An answer of a proxy, which is not JSON."""
    return status, {"Content-Type": "text/html", **headers}, "<html>Bad gateway</html>"


def success(**body: object) -> Answer:
    return 200, {"Content-Type": "application/json"}, json.dumps(body)


def stream(*messages: str) -> Answer:
    """An event stream with these messages, which then ends."""
    return 200, {"Content-Type": "text/event-stream"}, ":\n\n" + "".join(f"{each}\n\n" for each in messages)


class Scripted:
    """A server that gives the answers in order, and repeats the last one."""

    def __init__(self, answers: list[Answer], port: int) -> None:
        #: Method, path, headers and body of each request.
        self.requests: list[tuple[str, str, dict[str, str], str]] = []
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                headers = {name.lower(): value for name, value in self.headers.items()}
                scripted.requests.append((self.command, self.path, headers, body))
                status, given, text = answers[min(len(scripted.requests), len(answers)) - 1]
                self.send_response(status)
                for name, value in {**given, "Content-Length": str(len(text.encode()))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST = answer

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"


@contextmanager
def scripted(*answers: Answer, port: int = 0) -> Iterator[Scripted]:
    """Run a server that gives these answers."""
    server = Scripted(list(answers), port)
    threading.Thread(target=server.http.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
