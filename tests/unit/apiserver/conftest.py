"""The API without sockets: requests go straight to it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from moorage.apiserver.auth import User
from moorage.apiserver.bootstrap import bootstrap
from moorage.apiserver.registry import Clock
from moorage.apiserver.requests import Request, Response
from moorage.apiserver.server import ApiServer, Options
from moorage.apiserver.status import Refusal
from moorage.apiserver.verbs.watch import Watch

Json = dict[str, Any]

JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


@dataclass
class Answer:
    """What came back: the code, the object, the warnings."""

    code: int
    body: Any
    warnings: list[str]

    @property
    def causes(self) -> list[tuple[str, str]]:
        """The reason and field of each cause of a failure."""
        causes = self.body.get("details", {}).get("causes", [])
        return [(cause["reason"], cause.get("field", "")) for cause in causes]


class Caller:
    """Calls the API as an admin would."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.user = User("tester", ("system:masters",))

    def __call__(
        self, method: str, path: str, body: Any = None, *, content_type: str = JSON, accept: str = JSON, **query: Any
    ) -> Answer:
        request = self.request(method, path, body, content_type=content_type, accept=accept, **query)
        try:
            found = self.server.api.answer(request)
        except Refusal as error:
            return Answer(error.code, error.body(), request.warnings)
        assert isinstance(found, Response)
        is_json = found.content_type.startswith(JSON)
        return Answer(found.code, json.loads(found.body) if is_json else found.body, request.warnings)

    def request(
        self, method: str, path: str, body: Any = None, *, content_type: str = JSON, accept: str = JSON, **query: Any
    ) -> Request:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in query.items()}
        assert urlencode(texts) is not None
        return Request(method, path, texts, self.user, data, content_type, accept)

    def get(self, path: str, **query: Any) -> Json:
        """GET that must succeed."""
        answer = self("GET", path, **query)
        assert answer.code == 200, answer.body
        found: Json = answer.body
        return found

    def post(self, path: str, body: Json, **query: Any) -> Json:
        """POST that must succeed."""
        answer = self("POST", path, body, **query)
        assert answer.code == 201, answer.body
        found: Json = answer.body
        return found

    def put(self, path: str, body: Json, **query: Any) -> Json:
        """PUT that must succeed."""
        answer = self("PUT", path, body, **query)
        assert answer.code == 200, answer.body
        found: Json = answer.body
        return found

    def patch(self, path: str, body: Any, content_type: str = MERGE, **query: Any) -> Json:
        """PATCH that must succeed."""
        answer = self("PATCH", path, body, content_type=content_type, **query)
        assert answer.code in (200, 201), answer.body
        found: Json = answer.body
        return found

    def delete(self, path: str, body: Json | None = None, **query: Any) -> Json:
        """DELETE that must succeed."""
        answer = self("DELETE", path, body, **query)
        assert answer.code in (200, 202), answer.body
        found: Json = answer.body
        return found

    def watch(self, path: str, **query: Any) -> Watch:
        """Start a watch. Needs a running event loop."""
        found = self.server.api.answer(self.request("GET", path, watch="true", **query))
        assert isinstance(found, Watch)
        return found


class Time:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.seconds = 1_800_000_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def now() -> Time:
    return Time()


@pytest.fixture
def server(now: Time) -> ApiServer:
    """An API server that does not listen."""
    found = ApiServer(Options(clock=Clock(now)))
    bootstrap(found.registry)
    return found


@pytest.fixture
def api(server: ApiServer) -> Caller:
    return Caller(server)


@pytest.fixture
def make_server(tmp_path: Path) -> Callable[[], ApiServer]:
    """Servers that share a data directory, one after the other."""
    return lambda: ApiServer(Options(data_dir=tmp_path))


PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def pod() -> Callable[..., Json]:
    """Makes pods: `pod("a", nodeName="n")`."""

    def make(name: str = "a", *, labels: Json | None = None, **spec: Any) -> Json:
        container = {"name": "main", "image": "example/app:1"}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, **({"labels": labels} if labels else {})},
            "spec": {"containers": [container], **spec},
        }

    return make
