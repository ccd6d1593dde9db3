"""An extender written with nothing of ours: http.server and json, in a thread, which remembers what it was sent."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any

Tree = dict[str, Any]

#: What to answer a verb with its body: anything for JSON, bytes as they are, or a status and bytes.
Answering = Callable[[str, Tree], Any]


class PlainExtender:
    """`calls` are verb and body in the order in which they came."""

    def __init__(self, answering: Answering) -> None:
        self.answering = answering
        self.calls: list[tuple[str, Tree]] = []
        self.url = ""

    def verbs(self, pod: str = "") -> list[str]:
        """What was asked, about one pod or about all."""
        return [verb for verb, body in self.calls if pod in ("", pod_of(body))]

    def entry(self, *verbs: str, **more: Any) -> Tree:
        """An entry under `extenders:`."""
        return {"urlPrefix": self.url, **{f"{verb}Verb": verb for verb in verbs}, **more}


def pod_of(body: Tree) -> str:
    """The name of the pod a body is about."""
    name: str = body["Pod"]["metadata"]["name"] if "Pod" in body else body["PodName"]
    return name


def names_of(body: Tree) -> list[str]:
    """The nodes a body asks about."""
    if body["NodeNames"] is not None:
        return list(body["NodeNames"])
    return [node["metadata"]["name"] for node in body["Nodes"]["items"]]


def passing(body: Tree, names: list[str], **more: Any) -> Tree:
    """The answer to filter that lets these pass, in the form that was asked in."""
    if body["NodeNames"] is not None:
        return {"NodeNames": names, **more}
    nodes = [node for node in body["Nodes"]["items"] if node["metadata"]["name"] in names]
    return {"Nodes": {"metadata": {}, "items": nodes}, **more}


@contextlib.contextmanager
def plain_extender(answering: Answering, *, one_at_a_time: bool = False) -> Iterator[PlainExtender]:
    """Serve until the block ends; of several callers all at once, or one connection after the other."""
    extender = PlainExtender(answering)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            verb = self.path.rpartition("/")[2]
            extender.calls.append((verb, body))
            answer = extender.answering(verb, body)
            status, content = answer if isinstance(answer, tuple) else (200, answer)
            content = content if isinstance(content, bytes) else json.dumps(content).encode()
            with contextlib.suppress(OSError):
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None: ...

    serving = HTTPServer if one_at_a_time else ThreadingHTTPServer
    server = serving(("127.0.0.1", 0), Handler)
    if isinstance(server, ThreadingHTTPServer):
        server.daemon_threads = True
    extender.url = f"http://127.0.0.1:{server.server_address[1]}/extender"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield extender
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
