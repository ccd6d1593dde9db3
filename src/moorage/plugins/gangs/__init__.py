"""Gangs of both APIs: members wait for each other, and are placed together or not at all.

The placing itself is the engine's. These plugins say when a gang is whole, keep members out until enough of them are
there, and hold those that have a node until enough others have one.
"""

from moorage.plugins.gangs.coscheduling import Coscheduling
from moorage.plugins.gangs.gang_scheduling import GangScheduling

__all__ = ["Coscheduling", "GangScheduling"]
