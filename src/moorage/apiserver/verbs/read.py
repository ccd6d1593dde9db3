"""Get and list."""

from itertools import islice

from moorage.apiserver import status
from moorage.apiserver.history import Item
from moorage.apiserver.presenting import Presenter, decode_token, encode_token
from moorage.apiserver.registry import ServedKind, ServedKinds
from moorage.apiserver.requests import Request
from moorage.apiserver.selectors import FieldTerm, Matcher, parse_fields, parse_labels
from moorage.apiserver.validation.faults import Faults


def get(resource: ServedKind, namespace: str, name: str, request: Request, registry: ServedKinds) -> Item:
    """One object, or 404."""
    check_not_future(request.revision(), registry)
    item = resource.collection.get(namespace, name)
    if item is None:
        raise resource.not_found(name)
    return item


def matcher(resource: ServedKind, request: Request, name: str = "") -> Matcher:
    """The selectors of a request, and the one name it is about, if any."""
    labels = parse_labels(request.query.get("labelSelector", ""))
    terms = parse_fields(request.query.get("fieldSelector", ""))
    if name:
        terms = (*terms, FieldTerm("metadata.name", name))
    return Matcher(labels, terms, resource.field_names)


def check_not_future(revision: int | None, registry: ServedKinds) -> None:
    """Refuse a version that the store has not reached."""
    if revision and revision > registry.store.revision:
        raise status.version_too_large(revision, registry.store.revision)


def list_objects(resource: ServedKind, namespace: str | None, request: Request, presenter: Presenter) -> bytes:
    """A list, or one page of it. Pages of one list show one revision."""
    registry = presenter.registry
    limit = request.integer("limit") or 0
    revision, start = _starting_point(request, registry)
    selected = _selected(resource, namespace, request, revision, registry)
    if start is not None:
        selected = [item for item in selected if item.key >= start]
    if not limit or len(selected) <= limit:
        return presenter.objects(selected, revision)
    token = encode_token(revision, selected[limit].key)
    is_filtered = bool(request.query.get("labelSelector") or request.query.get("fieldSelector"))
    remaining = None if is_filtered else len(selected) - limit
    return presenter.objects(islice(selected, limit), revision, token, remaining)


def _starting_point(request: Request, registry: ServedKinds) -> tuple[int, tuple[str, str] | None]:
    """The revision to show, and the key to go on from."""
    current = registry.store.revision
    _check_match(request)
    if token := request.query.get("continue"):
        if request.revision():
            raise status.bad_request("specifying resource version is not allowed when using continue")
        return decode_token(token)
    wanted = request.revision()
    check_not_future(wanted, registry)
    if wanted and request.query.get("resourceVersionMatch") == "Exact":
        return wanted, None
    return current, None


def _check_match(request: Request) -> None:
    match = request.query.get("resourceVersionMatch", "")
    if not match:
        return
    faults = Faults()
    if match not in ("Exact", "NotOlderThan"):
        faults.not_supported("resourceVersionMatch", match, ("Exact", "NotOlderThan", ""))
    if not request.query.get("resourceVersion") and not request.flag("watch"):
        faults.forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided")
    if request.query.get("continue"):
        faults.forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")
    if faults:
        raise status.invalid("ListOptions", "meta.k8s.io", "", faults)


def _selected(
    resource: ServedKind, namespace: str | None, request: Request, revision: int, registry: ServedKinds
) -> list[Item]:
    collection = resource.collection
    selects = matcher(resource, request)
    if revision == registry.store.revision:
        if selects.name is not None and namespace is not None:
            item = collection.get(namespace, selects.name)
            return [item] if item is not None and selects.matches(item) else []
        items = collection.items(namespace)
    else:
        if revision < collection.history.compacted:
            raise status.expired(
                "The provided continue parameter is too old to display a consistent list result. You can start a new "
                "list without the continue parameter."
            )
        items = iter(collection.items_at(revision, namespace))
    if selects.is_everything:
        return list(items)
    return [item for item in items if selects.matches(item)]
