"""The protobuf form of OpenAPI v2; that kubectl understands it is proved in tests/peers."""

from typing import Any

from moorage.apiserver.fields.protobuf import _fields
from moorage.apiserver.openapi_protobuf import encode


def message(data: bytes) -> dict[int, list[Any]]:
    fields: dict[int, list[Any]] = {}
    for number, _, value in _fields(data):
        fields.setdefault(number, []).append(value)
    return fields


def schema_of(schema: dict[str, Any]) -> dict[int, list[Any]]:
    document = message(encode({"swagger": "2.0", "definitions": {"a.B": schema}}))
    assert document[1] == [b"2.0"]
    named = message(message(document[9][0])[1][0])
    assert named[1] == [b"a.B"]
    return message(named[2][0])


def test_a_schema_with_properties() -> None:
    made = schema_of({"type": "object", "required": ["x"], "properties": {"x": {"$ref": "#/definitions/a.C"}}})
    assert message(made[22][0])[1] == [b"object"]
    assert made[19] == [b"x"]
    inner = message(message(made[25][0])[1][0])
    assert inner[1] == [b"x"]
    assert message(inner[2][0])[1] == [b"#/definitions/a.C"]


def test_lists_and_maps() -> None:
    made = schema_of({"items": {"format": "int32"}, "additionalProperties": {"type": "string"}})
    assert message(message(made[23][0])[1][0])[2] == [b"int32"]
    assert 22 in message(message(made[21][0])[1][0])
    assert message(schema_of({"additionalProperties": True})[21][0])[2] == [1]


def test_extensions_are_yaml_and_unknown_keys_are_left_out() -> None:
    made = schema_of({"x-kubernetes-list-map-keys": ["name"], "oneOf": [{"type": "string"}]})
    assert set(made) == {31}
    extension = message(made[31][0])
    assert extension[1] == [b"x-kubernetes-list-map-keys"]
    assert message(extension[2][0])[2] == [b'["name"]']


def test_numbers() -> None:
    made = schema_of({"minimum": 0.5, "maxLength": 300, "uniqueItems": True, "enum": ["a", "b"], "default": 3})
    assert made[11] == [300]
    assert made[9] == [0x3FE0000000000000]
    assert made[16] == [1]
    assert [message(each)[2] for each in made[20]] == [[b'"a"'], [b'"b"']]
    assert message(made[5][0])[2] == [b"3"]


def test_operations() -> None:
    body = {"name": "body", "in": "body", "required": True, "schema": {"type": "object"}}
    query = {"name": "dryRun", "in": "query", "type": "string"}
    response = {"200": {"description": "OK", "schema": {"$ref": "#/definitions/a.B"}}}
    operation = {"operationId": "patchB", "parameters": [body, query], "responses": response}
    document = message(encode({"paths": {"/b": {"patch": operation}}}))
    named = message(message(document[8][0])[2][0])
    assert named[1] == [b"/b"]
    made = message(message(named[2][0])[8][0])
    assert made[5] == [b"patchB"]
    first, second = (message(message(each)[1][0]) for each in made[8])
    assert message(first[1][0])[2] == [b"body"]
    assert message(message(second[2][0])[3][0])[4] == [b"dryRun"]
    answered = message(message(made[9][0])[1][0])
    assert answered[1] == [b"200"]
    found = message(message(answered[2][0])[1][0])
    assert message(message(found[2][0])[1][0])[1] == [b"#/definitions/a.B"]
