"""The library's functions, by what they are about. Importing this package declares them all."""

from moorage.cel.functions import lists, network, numbers, optionals, texts, times, versions

__all__ = ["lists", "network", "numbers", "optionals", "texts", "times", "versions"]
