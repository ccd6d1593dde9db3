"""Logs: there are no containers behind these pods, and no kubelet to ask."""

from moorage.apiserver import status
from moorage.apiserver.answering import Answering
from moorage.apiserver.registry import ServedKind
from moorage.apiserver.requests import Request, Target
from moorage.apiserver.responses import Response
from moorage.apiserver.verbs.update import find


def serve(api: Answering, resource: ServedKind, target: Target, request: Request, _verb: str) -> Response:
    """GET pods/NAME/log."""
    pod = find(api.operation(resource, target, request)).decode()
    if not pod["spec"].get("nodeName"):
        raise status.bad_request(f"pod {target.name} does not have a host assigned")
    return Response(200, b"", "text/plain")
