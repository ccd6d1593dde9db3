"""The cycle of a group: its members placed together, or none; in the ways of both versions of kube-scheduler.

outcome     how it ends
objections  why a group is not even tried
trial       members placed for a while, one after the other
placing     a group, or a tree of groups, within all nodes or within domains of a topology
cycle       one attempt at it, as of 1.37: place, else make room, and say so
podbypod    the same as 1.36 does it, where each member makes room for itself
"""

from moorage.engine.groups.cycle import GroupCycle
from moorage.engine.groups.outcome import GroupAnswers, GroupOutcome, GroupQuestion, GroupVerdict, GroupWork
from moorage.engine.groups.podbypod import PodByPodCycle
from moorage.engine.groups.trial import Counting

__all__ = [
    "Counting",
    "GroupAnswers",
    "GroupCycle",
    "GroupOutcome",
    "GroupQuestion",
    "GroupVerdict",
    "GroupWork",
    "PodByPodCycle",
]
