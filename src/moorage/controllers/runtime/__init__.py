"""What controllers are made of: for ours, and for those of your own kinds.

A controller follows kinds of object, puts the keys of what changed into its queue, and brings one object at a time to
the state it asks for. `run_controllers` gives it a cluster and runs it, by a lease where there may be several.

controller    a queue of keys and what to do with one; all that every controller is given, in one thing
informers     one informer for each kind, shared; indexes over what they hold
discovery     which resources the server has
expectations  what was just written and has not come back yet, once or over and over
writer        creating, patching and deleting objects
ownership     who owns what: adopting, releasing
podwork       making and deleting pods, many at a time
running       controllers and a cluster put together
"""

from moorage.controllers.objects.meta import (
    Condition,
    Managed,
    ObjectMeta,
    OwnerReference,
    as_json,
    condition_of,
    with_condition,
    without_condition,
)
from moorage.controllers.objects.nodes import Node
from moorage.controllers.objects.pods import Pod, TerminatedState
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.expectations import Expectations, Freshness
from moorage.controllers.runtime.informers import Index, Informers, key_of
from moorage.controllers.runtime.ownership import owner_reference
from moorage.controllers.runtime.podwork import pod_of
from moorage.controllers.runtime.running import run_controllers, run_elected
from moorage.controllers.runtime.writer import BACKGROUND, FOREGROUND, ORPHAN, Writer, is_namespace_terminating
from moorage.errors import ApiError
from moorage.kube.access import ClusterAccess, load_access
from moorage.kube.election import ElectionSettings, LeadershipLost
from moorage.kube.errors import AlreadyExists, Conflict, NotFound, StatusError
from moorage.kube.informer import Key
from moorage.kube.paths import ApiResource, resource_of
from moorage.kube.recorder import NORMAL, WARNING
from moorage.kube.transport import Client
from moorage.values.time import format_time as time_stamp
from moorage.values.time import time_of as parse_time

#: What they were called before.
Resource = ApiResource
Cluster = ControllerContext

__all__ = [
    "BACKGROUND",
    "FOREGROUND",
    "NORMAL",
    "ORPHAN",
    "WARNING",
    "AlreadyExists",
    "ApiError",
    "ApiResource",
    "Client",
    "Cluster",
    "ClusterAccess",
    "Condition",
    "Conflict",
    "Controller",
    "ControllerContext",
    "ElectionSettings",
    "Expectations",
    "Freshness",
    "Index",
    "Informers",
    "Key",
    "LeadershipLost",
    "Managed",
    "Node",
    "NotFound",
    "ObjectMeta",
    "OwnerReference",
    "Pod",
    "Resource",
    "StatusError",
    "TerminatedState",
    "Writer",
    "as_json",
    "condition_of",
    "is_namespace_terminating",
    "key_of",
    "load_access",
    "owner_reference",
    "parse_time",
    "pod_of",
    "resource_of",
    "run_controllers",
    "run_elected",
    "time_stamp",
    "with_condition",
    "without_condition",
]
