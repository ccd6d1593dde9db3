"""From a request to the write it means, and from an object to the answer the client asked for."""

from moorage.apiserver import status
from moorage.apiserver.auth import Authenticator
from moorage.apiserver.history import Item
from moorage.apiserver.presenting import Presenter
from moorage.apiserver.registry import Operation, ServedKind, ServedKinds
from moorage.apiserver.requests import Request, Response, Target


class Answering:
    """What every verb and every subresource needs to answer."""

    def __init__(self, registry: ServedKinds, authenticator: Authenticator) -> None:
        self.registry = registry
        self.authenticator = authenticator

    def presenter(self, resource: ServedKind, request: Request) -> Presenter:
        """Writes answers in the form the client asked for."""
        return Presenter(self.registry, resource, request.answer, request.query.get("includeObject", ""))

    def operation(self, resource: ServedKind, target: Target, request: Request) -> Operation:
        """A write about to happen."""
        return Operation(
            self.registry,
            resource,
            target.namespace,
            request.user,
            name=target.name,
            subresource=target.subresource,
            is_dry_run=request.is_dry_run,
            field_validation=_field_validation(request),
            field_manager=request.query.get("fieldManager", ""),
            warnings=request.warnings,
        )

    def written(self, item: Item, resource: ServedKind, request: Request, code: int = 200) -> Response:
        """The answer to a write."""
        presenter = self.presenter(resource, request)
        return Response(code, presenter.one(item), presenter.content_type, is_write=True)


def _field_validation(request: Request) -> str:
    value = request.query.get("fieldValidation", "")
    if value not in ("", "Strict", "Warn", "Ignore"):
        raise status.bad_request(
            f'fieldValidation: Unsupported value: "{value}": supported values: "Ignore", "Strict", "Warn"'
        )
    return value
