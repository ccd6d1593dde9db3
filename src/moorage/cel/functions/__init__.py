"""The library's functions, by what they are about. Importing this package declares them all."""

from moorage.cel.functions import (
    authorization,
    formats,
    formatting,
    lists,
    network,
    numbers,
    optionals,
    texts,
    times,
    versions,
)

__all__ = [
    "authorization",
    "formats",
    "formatting",
    "lists",
    "network",
    "numbers",
    "optionals",
    "texts",
    "times",
    "versions",
]
