"""Devices as scheduling sees them: what slices publish, which devices claims hold, which classes stand for resources.

All three follow the object store: what it is told, they are told.
"""

from moorage.columns.devices.claims import Claims, DeviceId, TakenDevices
from moorage.columns.devices.classes import ResourceClasses, class_totals
from moorage.columns.devices.inventory import DeviceFacts, Inventory, NodeRule, SliceFacts

__all__ = [
    "Claims",
    "DeviceFacts",
    "DeviceId",
    "Inventory",
    "NodeRule",
    "ResourceClasses",
    "SliceFacts",
    "TakenDevices",
    "class_totals",
]
