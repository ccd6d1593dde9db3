"""CustomResourceDefinitions: their defaults, rules, first status, and how their kinds come to be served."""

from typing import Any

from moorage.apiserver.crd import jsonpath
from moorage.apiserver.crd.custom import CustomKind
from moorage.apiserver.crd.structural import validate_structural
from moorage.apiserver.history import Change, Follower, Item
from moorage.apiserver.kinds import Kind
from moorage.apiserver.registry import Operation, ServedKind, ServedKinds, Strategy
from moorage.apiserver.selectors import FieldPaths
from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.validation.metadata import dns1035_label, dns_subdomain
from moorage.apiserver.validation.rules import immutable, one_of

Json = dict[str, Any]

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


def default_definition(obj: Json) -> None:
    """Names from the kind, no conversion."""
    spec = obj.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind", "")
    if not names.get("singular"):
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"
    spec.setdefault("conversion", {"strategy": "None"})


def start_definition(operation: Operation, obj: Json) -> None:
    """Names are accepted and the kind is served at once; its objects go before it does."""
    obj["metadata"].setdefault("finalizers", []).append(CLEANUP)
    _set_status(operation, obj)
    _warn(operation, obj)


def update_definition(operation: Operation, new: Json, _old: Json) -> None:
    """New names and versions are accepted at once."""
    _set_status(operation, new)
    _warn(operation, new)


def _set_status(operation: Operation, obj: Json) -> None:
    spec = obj["spec"]
    found = obj.get("status") or {}
    stored = list(found.get("storedVersions", ()))
    stored += [v["name"] for v in spec.get("versions", ()) if v.get("storage") and v.get("name") not in (None, *stored)]
    now = operation.registry.clock.stamp()
    accepted = {"type": "NamesAccepted", "reason": "NoConflicts", "message": "no conflicts found"}
    established = {
        "type": "Established",
        "reason": "InitialNamesAccepted",
        "message": "the initial names have been accepted",
    }
    conditions = found.get("conditions") or [
        {**each, "status": "True", "lastTransitionTime": now} for each in (accepted, established)
    ]
    obj["status"] = {"conditions": conditions, "acceptedNames": spec["names"], "storedVersions": stored}


def _warn(operation: Operation, obj: Json) -> None:
    """Say what of a definition is not acted upon."""
    if (obj["spec"].get("conversion") or {}).get("strategy") == "Webhook":
        operation.warnings.append("conversion webhooks are not called: versions differ in apiVersion alone")
    if any(_has_rules(version.get("schema")) for version in obj["spec"].get("versions", ())):
        operation.warnings.append("x-kubernetes-validations are not evaluated")


def _has_rules(value: Any) -> bool:
    if isinstance(value, dict):
        return "x-kubernetes-validations" in value or any(_has_rules(inner) for inner in value.values())
    return isinstance(value, list) and any(_has_rules(inner) for inner in value)


def validate_definition(obj: Json, faults: Faults) -> None:
    """Names, versions, schemas."""
    spec = obj["spec"]
    names, group = spec.get("names") or {}, spec.get("group", "")
    if not group:
        faults.required("spec.group")
    elif problem := dns_subdomain(group):
        faults.invalid("spec.group", group, problem)
    elif "." not in group:
        faults.invalid("spec.group", group, "should be a domain with at least one dot")
    one_of(spec.get("scope"), ("Cluster", "Namespaced"), "spec.scope", faults, required=True)
    for name in ("plural", "singular", "kind", "listKind"):
        if not names.get(name):
            faults.required(f"spec.names.{name}")
        elif problem := dns1035_label(names[name].lower()):
            faults.invalid(f"spec.names.{name}", names[name], problem)
    wanted = f"{names.get('plural', '')}.{group}"
    if obj["metadata"].get("name") != wanted:
        faults.invalid(
            "metadata.name", obj["metadata"].get("name", ""), f'must be spec.names.plural+"."+spec.group ({wanted})'
        )
    _validate_versions(spec.get("versions", []), faults)


def _validate_versions(versions: list[Json], faults: Faults) -> None:
    if not versions:
        faults.required("spec.versions")
        return
    seen = set()
    for position, version in enumerate(versions):
        path, name = f"spec.versions[{position}]", version.get("name", "")
        if problem := dns1035_label(name):
            faults.invalid(f"{path}.name", name, problem)
        if name in seen:
            faults.invalid(f"{path}.name", name, "must contain unique version names")
        seen.add(name)
        _validate_version(version, path, faults)
    stored = [version for version in versions if version.get("storage")]
    if len(stored) != 1:
        faults.invalid(
            "spec.versions",
            [v.get("name") for v in versions],
            "must have exactly one version marked as storage version",
        )


def _validate_version(version: Json, path: str, faults: Faults) -> None:
    found = (version.get("schema") or {}).get("openAPIV3Schema")
    if found is None:
        faults.required(f"{path}.schema.openAPIV3Schema", "schemas are required")
    else:
        validate_structural(found, f"{path}.schema.openAPIV3Schema", faults)
    for position, column in enumerate(version.get("additionalPrinterColumns", ())):
        here = f"{path}.additionalPrinterColumns[{position}]"
        for name in ("name", "type", "jsonPath"):
            if not column.get(name):
                faults.required(f"{here}.{name}")
        try:
            jsonpath.parse(column.get("jsonPath", ""))
        except jsonpath.BadPath as error:
            faults.invalid(f"{here}.jsonPath", column["jsonPath"], f"illegal JSON path: {error}")
    scale = (version.get("subresources") or {}).get("scale")
    if scale is not None:
        for name, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
            if not scale.get(name, "").startswith(root):
                faults.invalid(
                    f"{path}.subresources.scale.{name}", scale.get(name, ""), f"should be a json path under {root[:-1]}"
                )


def keeps_identity(new: Json, old: Json, faults: Faults) -> None:
    """Group, scope, plural and kind are decided once."""
    spec, before = new["spec"], old["spec"]
    immutable(spec.get("group"), before.get("group"), "spec.group", faults)
    immutable(spec.get("scope"), before.get("scope"), "spec.scope", faults)
    for name in ("plural", "kind"):
        immutable(spec["names"].get(name), before["names"].get(name), f"spec.names.{name}", faults)


STRATEGY = Strategy(
    defaults=(default_definition,),
    on_create=(start_definition,),
    on_update=(update_definition,),
    validate=(validate_definition,),
    validate_update=(keeps_identity,),
)


class Definitions(Follower):
    """Follows the definitions and serves their kinds, the moment they are stored."""

    def __init__(self, registry: ServedKinds) -> None:
        super().__init__(lambda: None, limit=0)
        self.registry = registry
        self._served: dict[str, list[Kind]] = {}

    def offer(self, change: Change) -> None:
        """A definition came, changed or went."""
        if change.type == "DELETED":
            self.withdraw(change.item.name)
            self.registry.store.drop(change.item.name)
        else:
            self.install(change.item)

    def install(self, item: Item) -> None:
        """Serve the kinds of a definition."""
        self.withdraw(item.name)
        obj = item.decode()
        spec = obj["spec"]
        stored = next(version["name"] for version in spec["versions"] if version.get("storage"))
        for version in spec["versions"]:
            if version.get("served"):
                resource = self._resource(obj, version, stored)
                self._served.setdefault(item.name, []).append(resource.kind)
                self.registry.add(resource)

    def withdraw(self, name: str) -> None:
        """Serve them no longer."""
        for kind in self._served.pop(name, ()):
            self.registry.discard(kind)

    def _resource(self, obj: Json, version: Json, stored: str) -> ServedKind:
        spec, custom = obj["spec"], CustomKind(version)
        names, group = spec["names"], spec["group"]
        selectable = tuple(f["jsonPath"].lstrip(".") for f in version.get("selectableFields", ()))
        collection = self.registry.store.collection(obj["metadata"]["name"], selectable, FieldPaths(selectable))
        kind = Kind(
            group=group,
            version=version["name"],
            kind=names["kind"],
            plural=names["plural"],
            is_namespaced=spec["scope"] == "Namespaced",
            singular=names["singular"],
            list_kind=names["listKind"],
            short_names=tuple(names.get("shortNames", ())),
            categories=tuple(names.get("categories", ())),
            subresources=tuple(name for name in ("status", "scale") if name in (version.get("subresources") or {})),
            counts_generations=True,
        )
        is_stored = version["name"] == stored
        return ServedKind(
            kind,
            collection,
            custom.strategy(),
            collection.field_names,
            None if is_stored else _renamed(kind.api_version),
            None if is_stored else _renamed(f"{group}/{stored}"),
            custom.table(),
            custom,
        )


def _renamed(api_version: str) -> Any:
    """Conversion between versions that differ in name alone."""
    return lambda obj: {**obj, "apiVersion": api_version}
