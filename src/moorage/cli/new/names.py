"""The names that a new package needs, derived from the one given."""

import keyword
import re
from dataclasses import dataclass

from moorage.errors import InputError

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Names:
    """What everything is called."""

    #: What is installed: prefer-green.
    distribution: str
    #: What is imported: prefer_green.
    module: str
    #: The class, and its name in a configuration: PreferGreen.
    plugin: str
    #: What the plugin reads: example.com/prefer-green.
    label: str

    @property
    def entry(self) -> str:
        """How the entry point names the class."""
        return f"{self.module}.plugin:{self.plugin}"


def names(given: str) -> Names:
    """Names after "prefer-green", "prefer_green" or "PreferGreen". Raises InputError."""
    if not _NAME.fullmatch(given):
        raise InputError(
            f'"{given}" names no plugin: expected letters, digits and single hyphens, beginning with a letter, such as '
            "prefer-green or PreferGreen",
            where="NAME",
        )
    words = [word.lower() for word in _WORD.findall(given)]
    module = "_".join(words)
    if keyword.iskeyword(module) or module in ("moorage", "test", "tests"):
        raise InputError(f'"{module}" cannot be the name of a package of one\'s own: expected another', where="NAME")
    kept = given if given[0].isupper() and "-" not in given and "_" not in given else ""
    plugin = kept or "".join(word.capitalize() for word in words)
    distribution = "-".join(words)
    return Names(distribution, module, plugin, f"example.com/{distribution}")
