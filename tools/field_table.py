"""Writes the field table of the embedded API server from two checkouts of Kubernetes.

    python -m tools.field_table KUBERNETES_CHECKOUT NEWER_CHECKOUT > src/moorage/apiserver/fields/table.txt

The packages of NEWER are read from the second.

The table says, for each API struct, which fields it has: protobuf number, JSON name, type, and the marks that
decide how the field is merged and written. moorage.apiserver.fields reads it; its docstring explains the lines.
Run this when the API server moves to a new minor version of Kubernetes.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: Package of the table -> folder in the checkout. Only what the API server serves.
PACKAGES = {
    "meta": "staging/src/k8s.io/apimachinery/pkg/apis/meta/v1",
    "runtime": "staging/src/k8s.io/apimachinery/pkg/runtime",
    "apiextensions/v1": "staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
    "apiregistration/v1": "staging/src/k8s.io/kube-aggregator/pkg/apis/apiregistration/v1",
    **{
        name: f"staging/src/k8s.io/api/{name}"
        for name in (
            "admissionregistration/v1",
            "apps/v1",
            "authentication/v1",
            "authorization/v1",
            "autoscaling/v1",
            "autoscaling/v2",
            "batch/v1",
            "certificates/v1",
            "coordination/v1",
            "core/v1",
            "discovery/v1",
            "events/v1",
            "flowcontrol/v1",
            "networking/v1",
            "node/v1",
            "policy/v1",
            "rbac/v1",
            "resource/v1",
            "scheduling/v1",
            "scheduling/v1alpha2",
            "scheduling/v1alpha3",
            "scheduling/v1beta1",
            "storage/v1",
        )
    },
}
#: Versions of an API that the newer release alone serves.
NEWER = ("scheduling/v1alpha3", "scheduling/v1beta1")
#: Go types with an encoding of their own: the reader of the table knows these names.
SPECIAL = {
    "resource.Quantity": "Quantity",
    "meta.Time": "Time",
    "meta.MicroTime": "MicroTime",
    "meta.Duration": "Duration",
    "meta.FieldsV1": "Any",
    "intstr.IntOrString": "IntOrString",
    "runtime.RawExtension": "Any",
    "apiextensions/v1.JSON": "Any",
    "apiextensions/v1.JSONSchemaPropsOrArray": "Any",
    "apiextensions/v1.JSONSchemaPropsOrBool": "Any",
    "apiextensions/v1.JSONSchemaPropsOrStringArray": "Any",
    "types.UID": "string",
    "types.NodeName": "string",
}
SCALARS = {"string", "bool", "int32", "int64", "float64"}

_IMPORT = re.compile(r'^(?:import)?\s*(?:(\w+)\s+)?"(k8s\.io/[^"]+)"', re.M)
_STRUCT = re.compile(r"^((?://[^\n]*\n)*)type (\w+) struct ?\{(?:\n(.*?)^)?\}", re.M | re.S)
_ALIAS = re.compile(r"^type (\w+) ([\w\[\].*]+)(?:\s*//.*)?$", re.M)
_GROUPED_ALIAS = re.compile(r"^\t(\w+) (string|int32)$", re.M)
_FIELD = re.compile(r"^\t(?:(\w+)\s+)?([\w\[\].*]+)\s+`([^`]*)`", re.M)
_TAG = re.compile(r'(\w+):"([^"]*)"')


@dataclass
class Struct:
    package: str
    body: str
    imports: dict[str, str]
    is_atomic: bool = False


@dataclass
class Source:
    structs: dict[str, Struct] = field(default_factory=dict)
    aliases: dict[str, tuple[str, Struct]] = field(default_factory=dict)


def main() -> None:
    older, newer = (Path(argument) for argument in sys.argv[1:])
    source = Source()
    for package, folder in PACKAGES.items():
        root = newer if package in NEWER else older
        for name in ("types.go", "types_jsonschema.go"):
            path = root / folder / name
            if path.exists():
                read_file(package, path.read_text(), source)
    for package in PACKAGES:
        if package != "runtime":
            sys.stdout.writelines(f"{line}\n" for line in package_lines(package, source))


def read_file(package: str, text: str, source: Source) -> None:
    imports = {alias or path.rsplit("/", 1)[1]: path for alias, path in _IMPORT.findall(text)}
    for comment, name, body in _STRUCT.findall(text):
        source.structs[f"{package}.{name}"] = Struct(package, body, imports, "+structType=atomic" in comment)
    scope = Struct(package, "", imports)
    for name, target in _ALIAS.findall(text) + _GROUPED_ALIAS.findall(text):
        source.aliases[f"{package}.{name}"] = (target, scope)


def package_lines(package: str, source: Source) -> Iterator[str]:
    yield f"[{package}]"
    for name in sorted(source.structs):
        struct = source.structs[name]
        if struct.package == package and name not in SPECIAL:
            yield name.removeprefix(f"{package}.") + (" atomic" if struct.is_atomic else "")
            yield from (f" {line}" for line in struct_lines(struct, source) if line)


def struct_lines(struct: Struct, source: Source) -> list[str]:
    lines, comment_start = [], 0
    for match in _FIELD.finditer(struct.body):
        comment = struct.body[comment_start : match.start()]
        comment_start = match.end()
        tags = dict(_TAG.findall(match[3]))
        lines.append(field_line(match[2], tags, comment, struct, source))
    return lines


def field_line(go_type: str, tags: dict[str, str], comment: str, struct: Struct, source: Source) -> str:
    json_name, *options = tags.get("json", "-").split(",")
    proto = tags.get("protobuf", "").split(",")
    number = proto[1] if len(proto) > 1 else "0"
    kind, pointer = resolve(go_type, struct, source)
    if kind in ("meta.TypeMeta", "TypeMeta"):
        return "0 kind string\n 0 apiVersion string"
    if json_name == "-":
        return ""
    marks = []
    is_inline = "inline" in options or not json_name
    if is_inline:
        json_name = "="
    elif "omitzero" not in options and ("omitempty" not in options or is_plain_struct(kind, pointer, source, struct)):
        marks.append("keep")
    if pointer:
        marks.append("ptr")
    marks += merge_marks(tags, comment)
    required = "+optional" not in comment and not is_inline and "omitempty" not in options
    if required or "+required" in comment:
        marks.append("required")
    return " ".join([number, json_name, kind, *marks])


def is_plain_struct(kind: str, pointer: bool, source: Source, struct: Struct) -> bool:
    """Whether Go's omitempty has no effect: a struct that is no pointer is always written."""
    return not pointer and (kind if "." in kind else f"{struct.package}.{kind}") in source.structs


def merge_marks(tags: dict[str, str], comment: str) -> list[str]:
    """How the field takes part in strategic merge patches and in server-side apply."""
    marks = []
    strategy = tags.get("patchStrategy", "").split(",")
    if "merge" in strategy:
        marks.append(f"merge={tags['patchMergeKey']}" if "patchMergeKey" in tags else "merge")
    if "retainKeys" in strategy:
        marks.append("retainKeys")
    if "replace" in strategy:
        marks.append("replace")
    listing = re.search(r"\+listType=(\w+)", comment)
    keys = re.findall(r"\+listMapKey=(\w+)", comment)
    if listing and listing[1] == "map":
        marks.append("map=" + ",".join(keys))
    elif listing and listing[1] == "set":
        marks.append("set")
    if re.search(r"\+(structType|mapType)=atomic", comment):
        marks.append("atomic")
    return marks


def resolve(go_type: str, struct: Struct, source: Source) -> tuple[str, bool]:
    """The table's name of a Go type, and whether it was a pointer."""
    if go_type.startswith("*"):
        return resolve(go_type[1:], struct, source)[0], True
    if go_type == "[]byte":
        return "bytes", False
    if go_type.startswith("[]"):
        return "[]" + resolve(go_type[2:], struct, source)[0], False
    if go_type.startswith("map["):
        return "{}" + resolve(go_type[go_type.index("]") + 1 :], struct, source)[0], False
    if go_type in SCALARS:
        return go_type, False
    if go_type in ("int", "uint32", "uint64"):
        return "int64", False
    return resolve_name(go_type, struct, source)


def resolve_name(go_type: str, struct: Struct, source: Source) -> tuple[str, bool]:
    prefix, _, name = go_type.rpartition(".")
    package = package_of(struct.imports[prefix]) if prefix else struct.package
    full = f"{package}.{name}"
    if full in SPECIAL:
        return SPECIAL[full], False
    if full in source.aliases:
        target, scope = source.aliases[full]
        kind, pointer = resolve(target, scope, source)
        wrapped = kind == "[]string" and name in ("Verbs", "ExtraValue")
        return ("[]string~" if wrapped else kind), pointer
    if full not in source.structs:
        raise SystemExit(f"{struct.package}: {go_type} resolves to {full}, which no package of the table has")
    return (name if package == struct.package else full), False


def package_of(path: str) -> str:
    if path.endswith("apimachinery/pkg/apis/meta/v1"):
        return "meta"
    if "/apiextensions/" in path or path.startswith("k8s.io/api/"):
        return "/".join(path.split("/")[-2:])
    return path.rsplit("/", 1)[1]


if __name__ == "__main__":
    main()
