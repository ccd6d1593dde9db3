"""Answers requests: routes each to its resource and verb. Knows nothing of sockets."""

from collections.abc import Callable
from typing import Any

from moorage.apiserver import media, status
from moorage.apiserver.answering import Answering
from moorage.apiserver.auth import Authenticator
from moorage.apiserver.discovery import Discovery
from moorage.apiserver.kinds import READ_WRITE_VERBS, SUBRESOURCE_VERBS
from moorage.apiserver.patch.patching import patch_object
from moorage.apiserver.registry import Operation, ServedKind, ServedKinds
from moorage.apiserver.requests import Request, Response, Target, parse_path
from moorage.apiserver.subresources import REVIEWS, SUBRESOURCES, binding, reviews
from moorage.apiserver.verbs import bodies
from moorage.apiserver.verbs.create import create
from moorage.apiserver.verbs.delete import delete, read_options
from moorage.apiserver.verbs.read import get, list_objects, matcher
from moorage.apiserver.verbs.update import replace
from moorage.apiserver.verbs.watch import Watch

Json = dict[str, Any]


class Api(Answering):
    """The API, whole: resources, discovery, health."""

    def __init__(self, registry: ServedKinds, authenticator: Authenticator, release: str) -> None:
        super().__init__(registry, authenticator)
        self.discovery = Discovery(registry, release)

    def answer(self, request: Request) -> Response | Watch:
        """Answer a request of an authenticated user. Raises Refusal for everything that fails."""
        target = request.target = parse_path(request.path)
        if target is None:
            return self._discover(request)
        resource = self.registry.find(target.group, target.version, target.resource)
        if resource is None:
            raise status.no_such_path()
        return self.serve(resource, target, request)

    def serve(self, resource: ServedKind, target: Target, request: Request) -> Response | Watch:
        """One verb on one resource."""
        kind = resource.kind
        if target.namespace and not kind.is_namespaced:
            raise status.no_such_path()
        if target.subresource:
            return self._subresource(resource, target, request)
        verb = request.verb = _verb(target, request)
        if verb not in kind.verbs:
            raise status.method_not_allowed()
        if kind.is_namespaced and not target.namespace and (target.name or verb == "create"):
            raise status.no_such_path()
        return _VERBS[verb](self, resource, target, request)

    def get(self, resource: ServedKind, target: Target, request: Request) -> Response:
        """One object."""
        presenter = self.presenter(resource, request)
        item = get(resource, target.namespace, target.name, request, self.registry)
        return Response(200, presenter.one(item), presenter.content_type)

    def list(self, resource: ServedKind, target: Target, request: Request) -> Response:
        """Many objects."""
        presenter = self.presenter(resource, request)
        body = list_objects(resource, _namespace(resource, target), request, presenter)
        return Response(200, body, presenter.content_type)

    def watch(self, resource: ServedKind, target: Target, request: Request) -> Watch:
        """Changes as they come."""
        presenter = self.presenter(resource, request)
        return Watch(resource, _namespace(resource, target), request, presenter, target.name)

    def create(self, resource: ServedKind, target: Target, request: Request) -> Response:
        """A new object, or a review that stores nothing."""
        operation = self.operation(resource, target, request)
        obj = bodies.read(request.body, request.content_type, operation)
        answer = self._review(operation, obj)
        if answer is not None:
            return Response(201, media.encode(answer), is_write=True)
        return self.written(create(operation, obj), resource, request, 201)

    def update(self, resource: ServedKind, target: Target, request: Request) -> Response:
        """A whole object in place of the stored one."""
        operation = self.operation(resource, target, request)
        obj = bodies.read(request.body, request.content_type, operation)
        item, is_new = replace(operation, obj)
        return self.written(item, resource, request, 201 if is_new else 200)

    def patch(self, resource: ServedKind, target: Target, request: Request) -> Response:
        """A part of an object."""
        item, is_new = patch_object(self.operation(resource, target, request), request)
        return self.written(item, resource, request, 201 if is_new else 200)

    def delete(self, resource: ServedKind, target: Target, request: Request) -> Response:
        """One object goes, or is marked to go."""
        operation = self.operation(resource, target, request)
        options = read_options(request)
        item, is_gone = delete(operation, options)
        kind = resource.kind
        if is_gone and not kind.returns_deleted:
            details = {"name": item.name, "group": kind.group, "kind": kind.plural}
            details["uid"] = item.decode()["metadata"].get("uid", "")
            body = status.success({key: value for key, value in details.items() if value})
            return Response(200, media.encode(body), is_write=True)
        is_accepted = not is_gone and options.orphan_dependents is False
        return self.written(item, resource, request, 202 if is_accepted else 200)

    def deletecollection(self, resource: ServedKind, target: Target, request: Request) -> Response:
        """Every selected object goes."""
        operation = self.operation(resource, target, request)
        options = read_options(request)
        selects = matcher(resource, request)
        deleted = []
        for item in list(resource.collection.items(_namespace(resource, target))):
            if selects.matches(item):
                operation.name, operation.namespace = item.name, item.namespace
                deleted.append(delete(operation, options)[0])
        presenter = self.presenter(resource, request)
        body = presenter.objects(deleted, self.registry.store.revision)
        return Response(200, body, presenter.content_type, is_write=True)

    def _review(self, operation: Operation, obj: Json) -> Json | None:
        """The answer to a create that stores nothing; None for all others."""
        name = operation.resource.kind.resource
        if name == "tokenreviews.authentication.k8s.io":
            return reviews.token_review(self.authenticator, obj)
        if name == "bindings":
            pods = self.registry.resource("pods")
            operation.resource, operation.name = pods, (obj.get("metadata") or {}).get("name", "")
            binding.bind(operation, obj)
            return status.success({})
        review = REVIEWS.get(name)
        return review(operation, obj) if review else None

    def _subresource(self, resource: ServedKind, target: Target, request: Request) -> Response:
        kind = resource.kind
        if target.subresource not in kind.subresources:
            raise status.no_such_path()
        verb = request.verb = _verb(target, request)
        if verb not in SUBRESOURCE_VERBS.get(target.subresource, READ_WRITE_VERBS):
            raise status.method_not_allowed()
        handler = SUBRESOURCES.get(target.subresource)
        if handler is not None:
            return handler(self, resource, target, request, verb)
        if verb == "get":
            return self.get(resource, target, request)
        return self.update(resource, target, request) if verb == "update" else self.patch(resource, target, request)

    def _discover(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            raise status.no_such_path()
        found = self.discovery.find(request.path.rstrip("/"), request.query, request.accept)
        if found is None:
            raise status.no_such_path()
        body, content_type, headers = found
        return Response(200, body, content_type, headers)


def _namespace(resource: ServedKind, target: Target) -> str | None:
    """The namespace to look into; None for all of them."""
    if resource.kind.is_namespaced:
        return target.namespace or None
    return None


_METHODS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def _verb(target: Target, request: Request) -> str:
    """The API's verb for a method and a path."""
    if request.method in ("GET", "HEAD"):
        if target.name and not request.flag("watch"):
            return "get"
        return "watch" if request.flag("watch") else "list"
    verb = _METHODS.get(request.method)
    if verb is None or (verb in ("update", "patch") and not target.name):
        raise status.method_not_allowed()
    if verb == "create" and target.name and not target.subresource:
        raise status.method_not_allowed()
    return "deletecollection" if verb == "delete" and not target.name else verb


_VERBS: dict[str, Callable[[Api, ServedKind, Target, Request], Response | Watch]] = {
    "get": Api.get,
    "list": Api.list,
    "watch": Api.watch,
    "create": Api.create,
    "update": Api.update,
    "patch": Api.patch,
    "delete": Api.delete,
    "deletecollection": Api.deletecollection,
}
