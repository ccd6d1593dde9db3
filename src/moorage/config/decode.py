"""From a parsed document to typed sections, strictly: unknown fields and wrong types are faults, all of them reported.

Nulls are read as Go reads them: as if absent, but not for durations.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import msgspec
from msgspec import inspect

from moorage.config.args import ARGS_TYPES
from moorage.config.fields import Fault, child, shown
from moorage.config.ownargs import read_args
from moorage.config.types import API_VERSION, KIND, KubeSchedulerConfiguration, PluginConfig, ProfileSection
from moorage.errors import InputError, did_you_mean
from moorage.values.duration import Duration

# Integers without bounds of their own are those of core/v1 structs, where they are int32.
_INT32 = (-(2**31), 2**31 - 1)
_MAX_FLOAT32 = (2 - 2**-23) * 2.0**127
_TYPE_META = frozenset({"apiVersion", "kind"})
_REMOVED = object()

UNKNOWN_FIELD = "unknown field"

S = TypeVar("S", bound=msgspec.Struct)


def decode_configuration(
    document: Any, faults: list[Fault], args_types: Mapping[str, type] | None = None
) -> KubeSchedulerConfiguration:
    """The file's sections. Faults are appended; the result is of use only where there are none.

    `args_types` are what plugins from elsewhere read their arguments into."""
    decoder = _Decoder(faults, args_types=args_types or {})
    if not isinstance(document, Mapping):
        decoder.fail("", f"expected a {KIND}, got {_kind_of(document)}")
        return KubeSchedulerConfiguration()
    if not decoder.check_type_meta(document):
        return KubeSchedulerConfiguration()
    written = cast(KubeSchedulerConfiguration, decoder.section(document, KubeSchedulerConfiguration, ""))
    profiles = tuple(
        decoder.with_typed_args(profile, f"profiles[{index}]") for index, profile in enumerate(written.profiles)
    )
    return msgspec.structs.replace(written, profiles=profiles)


def decode_section(
    value: Any, kind: type[S], faults: list[Fault], *, path: str = "", fold_case: bool = False
) -> S | None:
    """One section of any type, apiVersion and kind aside; None where it is no object at all.

    With `fold_case` field names match whatever their case, as they once did."""
    section = _Decoder(faults, fold_case=fold_case).section(value, kind, path)
    return section if isinstance(section, kind) else None


class _Decoder:
    """Walks a document beside the description of the type it should have."""

    def __init__(
        self, faults: list[Fault], *, fold_case: bool = False, args_types: Mapping[str, type] | None = None
    ) -> None:
        self.faults = faults
        self.args_types = args_types or {}
        self.fold_case = fold_case

    def name(self, name: str) -> str:
        """A field's name as it is compared."""
        return name.lower() if self.fold_case else name

    def fail(self, path: str, problem: str) -> Any:
        self.faults.append(Fault(path, problem, "decode"))
        return _REMOVED

    def check_type_meta(self, document: Mapping[str, Any]) -> bool:
        before = len(self.faults)
        for field, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
            given = document.get(field)
            if given != wanted:
                got = "nothing" if given in (None, "") else shown(given)
                self.fail(field, f'expected "{wanted}", got {got}')
        return len(self.faults) == before

    def with_typed_args(self, profile: ProfileSection, path: str) -> ProfileSection:
        configs = tuple(
            self.typed_args(config, f"{path}.pluginConfig[{index}].args")
            for index, config in enumerate(profile.plugin_config)
        )
        return msgspec.structs.replace(profile, plugin_config=configs)

    def typed_args(self, config: PluginConfig, path: str) -> PluginConfig:
        kind = ARGS_TYPES.get(config.name)
        if kind is None:
            own = self.args_types.get(config.name)
            return config if own is None else PluginConfig(config.name, read_args(own, config.args, path, self.faults))
        args = {} if config.args is None else config.args
        if isinstance(args, Mapping) and not self.args_meta_fits(args, kind.__name__, path):
            return config
        return msgspec.structs.replace(config, args=self.section(args, kind, path))

    def args_meta_fits(self, args: Mapping[str, Any], kind: str, path: str) -> bool:
        """In-tree arguments may state what they are, but then rightly."""
        fits = True
        for field, wanted in (("apiVersion", API_VERSION), ("kind", kind)):
            given = args.get(field)
            if given not in (None, "", wanted):
                self.fail(child(path, field), f'expected "{wanted}", got {shown(given)}')
                fits = False
        return fits

    def section(self, value: Any, kind: type[msgspec.Struct], path: str) -> Any:
        info = inspect.type_info(kind)
        assert isinstance(info, inspect.StructType)
        if not isinstance(value, Mapping):
            return self.fail(path, f"expected an object, got {_kind_of(value)}")
        fields = {name: item for name, item in value.items() if name not in _TYPE_META}
        return self.struct(fields, info, path)

    def value(self, value: Any, kind: inspect.Type, path: str) -> Any:
        """The typed value, or _REMOVED where it is none (and a fault says why)."""
        match kind:
            case inspect.AnyType():
                return value
            case inspect.UnionType():
                return self.value(value, next(item for item in kind.types if item != inspect.NoneType()), path)
            case inspect.StructType():
                return self.struct(value, kind, path)
            case inspect.VarTupleType():
                return self.sequence(value, kind.item_type, path)
            case inspect.DictType():
                return self.mapping(value, kind.value_type, path)
            case inspect.CustomType() if _is_duration(kind):
                return self.duration(value, path)
            case _:
                return self.scalar(value, kind, path)

    def struct(self, value: Any, kind: inspect.StructType, path: str) -> Any:
        if not isinstance(value, Mapping):
            return self.fail(path, f"expected an object, got {_kind_of(value)}")
        fields = {self.name(field.encode_name): field for field in kind.fields}
        given: dict[str, Any] = {}
        for name, item in value.items():
            field = fields.get(self.name(name))
            if field is None:
                hint = did_you_mean(str(name), (field.encode_name for field in kind.fields))
                self.fail(child(path, name), f"{UNKNOWN_FIELD}{hint}")
            elif item is not None or _is_duration(field.type):
                decoded = self.value(item, field.type, child(path, name))
                if decoded is not _REMOVED:
                    given[field.name] = decoded
        return kind.cls(**given)

    def sequence(self, value: Any, item_type: inspect.Type, path: str) -> Any:
        if not isinstance(value, list | tuple):
            return self.fail(path, f"expected a list, got {_kind_of(value)}")
        items = (
            self.value(_zero(item_type) if item is None else item, item_type, f"{path}[{index}]")
            for index, item in enumerate(value)
        )
        return tuple(item for item in items if item is not _REMOVED)

    def mapping(self, value: Any, value_type: inspect.Type, path: str) -> Any:
        if not isinstance(value, Mapping):
            return self.fail(path, f"expected an object, got {_kind_of(value)}")
        decoded = {
            key: self.value(_zero(value_type) if item is None else item, value_type, f"{path}[{key}]")
            for key, item in value.items()
        }
        return {key: item for key, item in decoded.items() if item is not _REMOVED}

    def duration(self, value: Any, path: str) -> Any:
        if not isinstance(value, str):
            return self.fail(path, f'expected a duration such as "10s", got {_kind_of(value)}')
        try:
            return Duration.parse(value)
        except InputError as error:
            return self.fail(path, error.problem)

    def scalar(self, value: Any, kind: inspect.Type, path: str) -> Any:
        match kind:
            case inspect.StrType() if isinstance(value, str):
                return value
            case inspect.BoolType() if isinstance(value, bool):
                return value
            case inspect.IntType():
                return self.integer(value, kind, path)
            case inspect.FloatType() if _is_float32(value):
                return float(value)
            case inspect.BytesType() if isinstance(value, str):
                return self.base64(value, path)
        return self.fail(path, f"expected {_SCALAR_NAMES[type(kind)]}, got {_kind_of(value)}")

    def integer(self, value: Any, kind: inspect.IntType, path: str) -> Any:
        if not isinstance(value, int) or isinstance(value, bool):
            return self.fail(path, f"expected an integer, got {_kind_of(value)}")
        low, high = (_INT32[0], _INT32[1]) if kind.ge is None or kind.le is None else (kind.ge, kind.le)
        if not low <= value <= high:
            return self.fail(path, f"{value} is out of range: expected {low}..{high}")
        return value

    def base64(self, value: str, path: str) -> Any:
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error:
            return self.fail(path, "expected base64")


_SCALAR_NAMES: Mapping[type[inspect.Type], str] = {
    inspect.StrType: "a string",
    inspect.BoolType: "true or false",
    inspect.FloatType: "a number",
    inspect.BytesType: "base64 text",
}


def _zero(kind: inspect.Type) -> Any:
    """What Go makes of a null among the items of a list: the zero value."""
    match kind:
        case inspect.StrType():
            return ""
        case inspect.StructType():
            return {}
    return 0


def _is_duration(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.CustomType) and kind.cls is Duration


def _is_float32(value: Any) -> bool:
    """Whether it is a number of the size that Go's float32 takes (no infinity, no NaN)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _MAX_FLOAT32


def _kind_of(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool() | int() | float():
            return shown(value)
        case str():
            return f"the text {shown(value)}"
        case Mapping():
            return "an object"
    return "a list"
