"""The forms that scheduler configurations had before v1, and the command that turns them into it."""

from collections.abc import Mapping
from typing import Any, Final

from moorage.config.types import API_VERSION, KIND

POLICY: Final = "Policy"
_GROUP = API_VERSION.partition("/")[0]
#: apiVersion -> the version, oldest first; v1alpha1 once had a group of its own.
OLD_VERSIONS: Final[Mapping[str, str]] = {
    "componentconfig/v1alpha1": "v1alpha1",
    f"{_GROUP}/v1alpha1": "v1alpha1",
    f"{_GROUP}/v1alpha2": "v1alpha2",
    f"{_GROUP}/v1beta1": "v1beta1",
    f"{_GROUP}/v1beta2": "v1beta2",
    f"{_GROUP}/v1beta3": "v1beta3",
}


def old_version(document: Any) -> str:
    """Which form of before v1 a document has: "Policy", "v1alpha1" and so on; "" for any other."""
    if not isinstance(document, Mapping):
        return ""
    if document.get("kind") == POLICY:
        return POLICY
    version = document.get("apiVersion")
    return OLD_VERSIONS.get(version, "") if isinstance(version, str) and document.get("kind") == KIND else ""


def convert_hint(document: Any, source: str) -> str:
    """What to run to bring a document of an old form into today's; "" for any other document."""
    if not old_version(document):
        return ""
    return f"run `moorage config convert {source or 'FILE'}` to have it in today's form"
