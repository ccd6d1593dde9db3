"""Collects what is wrong with an object, in Kubernetes' words."""

from collections.abc import Iterable
from typing import Any

import msgspec

from moorage.apiserver.status import Fault


class Faults(list[Fault]):
    """Faults in the order they were found."""

    def required(self, path: str, detail: str = "") -> None:
        """A value that must be there."""
        self.append(Fault(path, "FieldValueRequired", _sentence("Required value", detail)))

    def invalid(self, path: str, value: Any, detail: str) -> None:
        """A value that breaks a rule."""
        self.append(Fault(path, "FieldValueInvalid", f"Invalid value: {_show(value)}: {detail}"))

    def not_supported(self, path: str, value: Any, choices: Iterable[str]) -> None:
        """A value outside its enumeration."""
        listed = ", ".join(f'"{choice}"' for choice in choices)
        self.append(
            Fault(path, "FieldValueNotSupported", f"Unsupported value: {_show(value)}: supported values: {listed}")
        )

    def forbidden(self, path: str, detail: str) -> None:
        """A value, or a change, that is not allowed here."""
        self.append(Fault(path, "FieldValueForbidden", _sentence("Forbidden", detail)))

    def duplicate(self, path: str, value: Any) -> None:
        """A value that must be unique."""
        self.append(Fault(path, "FieldValueDuplicate", f"Duplicate value: {_show(value)}"))

    def not_found(self, path: str, value: Any, detail: str = "") -> None:
        """A reference to something that is not there."""
        self.append(Fault(path, "FieldValueNotFound", _sentence(f"Not found: {_show(value)}", detail)))

    def too_long(self, path: str, limit: int) -> None:
        """A value over its length."""
        self.append(Fault(path, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes"))

    def too_many(self, path: str, count: int, limit: int) -> None:
        """A list over its length."""
        self.append(Fault(path, "FieldValueTooMany", f"Too many: {count}: must have at most {limit} items"))

    def type_invalid(self, path: str, value: Any, detail: str) -> None:
        """A value of the wrong type, in a custom resource."""
        self.append(Fault(path, "FieldValueTypeInvalid", f"Invalid value: {_show(value)}: {detail}"))


def _sentence(start: str, detail: str) -> str:
    return f"{start}: {detail}" if detail else start


def _show(value: Any) -> str:
    return msgspec.json.encode(value).decode()
