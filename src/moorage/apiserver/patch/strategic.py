"""Strategic merge patch: lists merge by key or as sets, as the field table says, and directives steer it.

Directives: `$patch: replace | delete` in a map or list element, `$retainKeys: [...]` in a map,
`$deleteFromPrimitiveList/FIELD` and `$setElementOrder/FIELD` beside a list.
"""

from typing import Any

from moorage.apiserver import status
from moorage.apiserver.fields.schema import Field, Type, struct

Json = dict[str, Any]

_PATCH, _RETAIN = "$patch", "$retainKeys"
_DELETE_FROM, _ORDER = "$deleteFromPrimitiveList/", "$setElementOrder/"


def merge(original: Json, patch: Json, struct_name: str) -> Json:
    """The original, changed in place, with the patch merged in. 400 for a patch that makes no sense."""
    return _merge_map(original, patch, struct(struct_name).fields)


def _merge_map(original: Json, patch: Json, fields: dict[str, Field] | None) -> Json:
    directive = patch.get(_PATCH)
    if directive == "replace":
        cleaned: Json = _clean({key: value for key, value in patch.items() if key != _PATCH})
        return cleaned
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise status.bad_request(f"unknown patch type found: {directive}")
    if _RETAIN in patch:
        _retain(original, patch)
    for key, value in patch.items():
        if key.startswith(_DELETE_FROM):
            _delete_from(original, key.removeprefix(_DELETE_FROM), value)
        elif not key.startswith("$"):
            _merge_key(original, key, value, fields.get(key) if fields else None)
    for key, value in patch.items():
        if key.startswith(_ORDER):
            name = key.removeprefix(_ORDER)
            _reorder(original, name, value, fields.get(name) if fields else None)
    return original


def _retain(original: Json, patch: Json) -> None:
    keys = patch[_RETAIN]
    if not isinstance(keys, list):
        raise status.bad_request(f"the {_RETAIN} directive is not a list")
    for key in [key for key in original if key not in keys]:
        del original[key]


def _merge_key(original: Json, key: str, value: Any, field: Field | None) -> None:
    if value is None:
        original.pop(key, None)
    elif isinstance(value, dict):
        _merge_dict(original, key, value, field)
    elif isinstance(value, list):
        old = original.get(key)
        original[key] = _merge_list(old if isinstance(old, list) else [], value, field)
    else:
        original[key] = value


def _merge_dict(original: Json, key: str, value: Json, field: Field | None) -> None:
    old = original.get(key)
    if value.get(_PATCH) == "delete":
        original.pop(key, None)
    elif isinstance(old, dict):
        original[key] = _merge_map(old, value, _fields_of(field.type if field else None))
    else:
        original[key] = _merge_map({}, value, _fields_of(field.type if field else None))


def _fields_of(kind: Type | None) -> dict[str, Field] | None:
    return struct(kind.struct).fields if kind is not None and kind.struct else None


def _merge_list(original: list[Any], patch: list[Any], field: Field | None) -> list[Any]:
    if field is None or not field.is_merged:
        return [_clean(element) for element in patch]
    if any(isinstance(element, dict) and element.get(_PATCH) == "replace" for element in patch):
        kept = [e for e in patch if not (isinstance(e, dict) and e.keys() == {_PATCH})]
        return [_clean({k: v for k, v in e.items() if k != _PATCH}) if isinstance(e, dict) else e for e in kept]
    if field.merge_key:
        merged = _merge_keyed(original, patch, field)
    else:
        merged = original + [value for value in patch if value not in original]
    return _ordered(merged, patch, original, field.merge_key)


def _merge_keyed(original: list[Any], patch: list[Any], field: Field) -> list[Any]:
    key = field.merge_key
    fields = _fields_of(field.type.element)
    result = list(original)
    for element in patch:
        if not isinstance(element, dict) or key not in element:
            raise status.bad_request(f"map: {element} does not contain declared merge key: {key}")
        matches = [n for n, e in enumerate(result) if isinstance(e, dict) and e.get(key) == element[key]]
        if element.get(_PATCH) == "delete":
            result = [e for n, e in enumerate(result) if n not in matches]
        elif matches:
            result[matches[0]] = _merge_map(result[matches[0]], element, fields)
        else:
            result.append(_merge_map({}, element, fields))
    return result


def _delete_from(original: Json, name: str, values: Any) -> None:
    if not isinstance(values, list):
        raise status.bad_request(f"the {_DELETE_FROM}{name} directive is not a list")
    old = original.get(name)
    if isinstance(old, list):
        original[name] = [value for value in old if value not in values]


def _reorder(original: Json, name: str, order: Any, field: Field | None) -> None:
    """Put the elements that the directive names into its order."""
    if not isinstance(order, list):
        raise status.bad_request(f"the {_ORDER}{name} directive is not a list")
    items = original.get(name)
    if isinstance(items, list) and field is not None:
        original[name] = _ordered(items, order, items, field.merge_key)


def _ordered(merged: list[Any], wanted: list[Any], original: list[Any], key: str) -> list[Any]:
    """The merged elements: those of the patch in its order, the others where they were among them.

    Of two that both were there before, the old order decides; an element that is new goes first."""
    wanted_ranks, old_ranks = _ranks(wanted, key), _ranks(original, key)
    patched = [element for element in merged if _identity(element, key) in wanted_ranks]
    patched.sort(key=lambda element: wanted_ranks[_identity(element, key)])
    result: list[Any] = []
    for element in merged:
        rank = _identity(element, key)
        if rank in wanted_ranks:
            continue
        while patched and not _is_before(rank, _identity(patched[0], key), old_ranks):
            result.append(patched.pop(0))
        result.append(element)
    return result + patched


def _is_before(element: str, patched: str, ranks: dict[str, int]) -> bool:
    return element in ranks and patched in ranks and ranks[element] < ranks[patched]


def _ranks(elements: list[Any], key: str) -> dict[str, int]:
    return {_identity(element, key): position for position, element in enumerate(elements)}


def _identity(element: Any, key: str) -> str:
    return repr(element.get(key) if key and isinstance(element, dict) else element)


def _clean(value: Any) -> Any:
    """A patch's value on its own: nulls and directives have nothing to act on."""
    if isinstance(value, dict):
        return {k: _clean(v) for k, v in value.items() if v is not None and not k.startswith("$")}
    return [_clean(inner) for inner in value] if isinstance(value, list) else value
