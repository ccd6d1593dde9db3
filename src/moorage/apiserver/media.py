"""Formats: what a body is written in, and what the client would like the answer in."""

from dataclasses import dataclass
from typing import Any

import msgspec

from moorage.apiserver import status
from moorage.apiserver.fields import protobuf
from moorage.errors import InputError
from moorage.values import yaml

Json = dict[str, Any]

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
READABLE = (JSON, YAML, PROTOBUF)

_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class Answer:
    """The format of an answer: JSON or YAML, whole objects, tables, or metadata alone."""

    media_type: str = JSON
    shape: str = ""
    version: str = ""

    @property
    def is_plain(self) -> bool:
        """Whole objects in JSON: the bytes as they are stored."""
        return not self.shape and self.media_type == JSON


PLAIN = Answer()
_SHAPES = frozenset({"Table", "PartialObjectMetadata", "PartialObjectMetadataList"})


def negotiate(accept: str) -> Answer:
    """The first format of an Accept header that we can write. 406 where there is none."""
    if not accept or accept == JSON:
        return PLAIN
    for part in accept.split(","):
        media_type, _, parameters = part.strip().partition(";")
        if media_type in ("*/*", "application/*"):
            media_type = JSON
        if media_type not in (JSON, YAML):
            continue
        named = dict(p.strip().split("=", 1) for p in parameters.split(";") if "=" in p)
        shape = named.get("as", "")
        if not shape:
            return PLAIN if media_type == JSON else Answer(media_type)
        if shape in _SHAPES and named.get("g") == "meta.k8s.io" and named.get("v") in ("v1", "v1beta1"):
            return Answer(media_type, shape, named["v"])
    raise status.not_acceptable((JSON, YAML))


def encode(obj: Any, answer: Answer = PLAIN) -> bytes:
    """Write an object in the format of the answer."""
    data = msgspec.json.encode(obj)
    return data if answer.media_type == JSON else to_yaml(data)


def to_yaml(data: bytes) -> bytes:
    """JSON bytes as YAML."""
    return yaml.dump(_decode(data)).encode()


def read_object(body: bytes, content_type: str, struct: str = "") -> Json:
    """Decode a body into an object. Protobuf needs the struct. 400 or 415 where it cannot be."""
    media_type = content_type.partition(";")[0].strip() or JSON
    if media_type == PROTOBUF:
        if not struct:
            raise status.unsupported_media_type((JSON, YAML))
        try:
            return protobuf.decode(body, struct)
        except protobuf.Malformed as error:
            raise status.bad_request(f"unable to decode protobuf: {error}") from error
    if media_type == JSON:
        return as_object(read_json(body))
    if media_type == YAML:
        return as_object(_read_yaml(body))
    raise status.unsupported_media_type(READABLE)


def read_json(body: bytes) -> Any:
    """Decode JSON, or 400."""
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise status.bad_request(f"couldn't get version/kind; json parse error: {error}") from error
    except RecursionError as error:
        raise status.bad_request("json parse error: exceeded max depth") from error


def _read_yaml(body: bytes) -> Any:
    try:
        return yaml.load(body)
    except InputError as error:
        raise status.bad_request(f"yaml: {error}") from error


def as_object(value: Any) -> Json:
    """An object is a map; anything else is refused with 400."""
    if not isinstance(value, dict):
        raise status.bad_request("couldn't get version/kind; json parse error: the body is not an object")
    return value
