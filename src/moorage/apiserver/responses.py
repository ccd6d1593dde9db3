"""Answers, before they become HTTP."""

from dataclasses import dataclass, field

from moorage.apiserver.media import JSON


@dataclass(frozen=True, slots=True)
class Response:
    """An answer: its code, bytes, format, headers. `is_write`: to be sent once the change is durable."""

    code: int
    body: bytes
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    is_write: bool = False
