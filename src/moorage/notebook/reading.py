"""Objects from what people have at hand: files and folders, kubectl's lists, texts, dicts.

What an API server would have filled in before a scheduler sees the object is filled in here: the namespace, an
identity, allocatable where a node only tells its capacity, requests where a container only has limits, the priority of
a priority class. Kinds that scheduling does not read (a Deployment, a ConfigMap) are left out, since
`kubectl get all -o yaml` is full of them.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from moorage.apiserver.defaults.objects import default_node
from moorage.apiserver.defaults.pods import default_pod
from moorage.cases.reading import check_quantities
from moorage.errors import InputError, ObjectError, did_you_mean
from moorage.kube.paths import RESOURCES
from moorage.notebook.misspelling import alike, unknown_fields
from moorage.objects import KINDS, KubeObject, convert_object
from moorage.values import yaml

logger = logging.getLogger(__name__)

#: A path of a file or folder, a text of YAML or JSON, a parsed manifest or list, or several of them.
Source = str | Path | Mapping[str, Any] | Sequence[Mapping[str, Any]]

_SUFFIXES: Final = (".yaml", ".yml", ".json")
_DEFAULT_NAMESPACE: Final = "default"


def read_objects(*sources: Source) -> list[KubeObject]:
    """Every object of the sources, the last of a name taking the place of those before it.

    Raises InputError that names file, document and field.
    """
    return [item for item, _ in _read(sources)]


def read_manifests(*sources: Source) -> list[dict[str, Any]]:
    """The same objects as manifests, complete as an API server would have them."""
    return [tree for _, tree in _read(sources)]


def _read(sources: Iterable[Source]) -> list[tuple[KubeObject, dict[str, Any]]]:
    trees = [pair for source in sources for pair in _trees(source)]
    classes = {name: tree for _, tree in trees if tree["kind"] == "PriorityClass" and (name := _name(tree))}
    objects: dict[tuple[str, str], tuple[KubeObject, dict[str, Any]]] = {}
    told: set[tuple[str, str]] = set()
    for where, tree in trees:
        _tell_unknown(tree, where, told)
        item = _object(tree, where, classes)
        objects[(item.KIND, item.key)] = item, tree
    return list(objects.values())


def _tell_unknown(tree: Mapping[str, Any], where: str, told: set[tuple[str, str]]) -> None:
    """Warn of fields that are unknown: what many objects have is told of the first."""
    for fault in unknown_fields(tree):
        kind_and_field = (str(tree["kind"]), alike(fault))
        if kind_and_field not in told:
            told.add(kind_and_field)
            logger.warning("%s: %s: %s", where, tree["kind"], fault)


def _trees(source: Source) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each manifest that scheduling reads, with where it stands."""
    for where, document in _documents(source):
        if not isinstance(document, Mapping):
            raise InputError(f"expected an object of Kubernetes, got {type(document).__name__}", where=where)
        if str(document.get("kind", "")).endswith("List") and isinstance(document.get("items"), list):
            for index, item in enumerate(document["items"]):
                if not isinstance(item, Mapping):
                    raise InputError(f"expected an object, got {type(item).__name__}", where=f"{where}: items[{index}]")
                yield from _known(f"{where}: items[{index}]", _typed(item, document))
        else:
            yield from _known(where, document)


def _documents(source: Source) -> Iterator[tuple[str, Any]]:
    if isinstance(source, Mapping):
        yield "object", source
    elif isinstance(source, str | Path):
        for where, text in _texts(source):
            documents = _parsed(text, where)
            several = len(documents) > 1
            for number, document in enumerate(documents, start=1):
                yield (f"{where}: document {number}" if several else where), document
    else:
        for index, item in enumerate(source):
            yield f"object {index}", item


def _texts(source: str | Path) -> Iterator[tuple[str, str]]:
    if isinstance(source, str) and ("\n" in source or yaml.looks_like_json(source)):
        yield "text", source
        return
    path = Path(source)
    files: Iterable[Path] = [path]
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES)
        if not files:
            raise InputError(f"no file that ends in {', '.join(_SUFFIXES)}", where=str(path))
    for file in files:
        try:
            yield str(file), file.read_text()
        except OSError as error:
            raise InputError(error.strerror or str(error), where=str(file)) from None
        except UnicodeDecodeError:
            raise InputError("not UTF-8 text", where=str(file)) from None


def _parsed(text: str, where: str) -> list[Any]:
    try:
        documents = yaml.load_all(text)
    except InputError as error:
        raise InputError(str(error), where=where) from None
    return [part for document in documents for part in (document if isinstance(document, list) else [document])]


def _typed(item: Mapping[str, Any], listed: Mapping[str, Any]) -> Mapping[str, Any]:
    """An item of a typed list (`NodeList`) need not say its kind."""
    kind = str(listed["kind"]).removesuffix("List")
    return {"kind": kind, "apiVersion": listed.get("apiVersion"), **item} if kind else item


def _known(where: str, tree: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    kind = tree.get("kind")
    if not isinstance(kind, str) or not kind:
        raise InputError('expected the kind of an object, such as "Pod"', where=f"{where}: kind")
    if kind in KINDS:
        yield where, deepcopy(dict(tree))
    elif kind not in RESOURCES and (hint := did_you_mean(kind, [*KINDS, *RESOURCES])):
        raise InputError(f'unknown kind "{kind}"{hint}', where=f"{where}: kind")


def _object(tree: dict[str, Any], where: str, classes: Mapping[str, Mapping[str, Any]]) -> KubeObject:
    at = f"{where}: {tree['kind']}"
    try:
        _fill_in(tree, classes)
        check_quantities(tree)
        return convert_object(tree)
    except ObjectError as error:
        raise InputError(str(error), where=at) from None
    except (AttributeError, KeyError, TypeError, ValueError):
        # Defaults are filled in for what has the right shape; what has not is told by the typed conversion.
        raise InputError(_problem(tree), where=at) from None


def _problem(tree: Mapping[str, Any]) -> str:
    try:
        convert_object(tree)
    except ObjectError as error:
        return str(error)
    return "not of the shape of this kind"


def _fill_in(tree: dict[str, Any], classes: Mapping[str, Mapping[str, Any]]) -> None:
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict):
        raise ObjectError("expected an object with a name", where="metadata")
    if not metadata.get("name"):
        raise ObjectError("expected a name", where="metadata.name")
    kind = tree["kind"]
    resource = RESOURCES.get(kind)
    if resource is None or resource.namespaced:
        metadata.setdefault("namespace", _DEFAULT_NAMESPACE)
    metadata.setdefault("uid", "-".join(filter(None, (metadata.get("namespace"), str(metadata.get("name")), "uid"))))
    if kind == "Node":
        default_node(tree)
    elif kind == "Pod":
        if not isinstance(tree.get("spec"), dict):
            raise ObjectError("expected an object with containers", where="spec")
        _give_priority(tree, classes)
        default_pod(tree)


def _give_priority(pod: dict[str, Any], classes: Mapping[str, Mapping[str, Any]]) -> None:
    """The priority that the API server writes into a pod, from its class or the default one."""
    spec = pod["spec"]
    if spec.get("priority") is not None:
        return
    named = spec.get("priorityClassName")
    chosen = classes.get(named) if named else next((one for one in classes.values() if one.get("globalDefault")), None)
    if chosen is not None:
        spec["priority"] = chosen.get("value", 0)
        if chosen.get("preemptionPolicy"):
            spec.setdefault("preemptionPolicy", chosen["preemptionPolicy"])


def _name(tree: Mapping[str, Any]) -> str:
    metadata = tree.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""
