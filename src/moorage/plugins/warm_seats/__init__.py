"""WarmSeats: a small bonus for the nodes where pods of the same identity ran lately.

identities  what makes a pod the same as one that ran before
memory      where identities ran, for a while, within bounds
plugin      the extension points
"""

from moorage.plugins.warm_seats.plugin import WarmSeats

__all__ = ["WarmSeats"]
