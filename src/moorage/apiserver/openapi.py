"""OpenAPI documents, made from the field table and the kinds."""

from collections.abc import Mapping

from moorage.apiserver.registry import Registry


class OpenApi:
    """Answers /openapi/v2 and /openapi/v3."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def find(self, path: str, query: Mapping[str, str], accept: str) -> tuple[bytes, str, dict[str, str]] | None:
        """The document at a path, or None."""
        return None
