"""How a search for devices ends when it ends neither with devices nor without."""


class BrokenSearch(Exception):
    """A claim, a class, a slice or a selector is wrong: the whole attempt fails with this text."""


class SearchTooLong(Exception):
    """The search took more steps than it may."""
