"""The feature gates that change how a configuration is read, and which of them are on by default (1.36)."""

from typing import Final

DYNAMIC_RESOURCE_ALLOCATION: Final = "DynamicResourceAllocation"
NODE_DECLARED_FEATURES: Final = "NodeDeclaredFeatures"
GANG_SCHEDULING: Final = "GangScheduling"
TOPOLOGY_AWARE_WORKLOAD_SCHEDULING: Final = "TopologyAwareWorkloadScheduling"
STORAGE_CAPACITY_SCORING: Final = "StorageCapacityScoring"
DRA_SCHEDULER_FILTER_TIMEOUT: Final = "DRASchedulerFilterTimeout"
DRA_DEVICE_BINDING_CONDITIONS: Final = "DRADeviceBindingConditions"
DRA_RESOURCE_CLAIM_DEVICE_STATUS: Final = "DRAResourceClaimDeviceStatus"

#: The names of the gates that are on.
Gates = frozenset[str]

DEFAULT_GATES: Final[Gates] = frozenset(
    {
        DYNAMIC_RESOURCE_ALLOCATION,
        NODE_DECLARED_FEATURES,
        DRA_SCHEDULER_FILTER_TIMEOUT,
        DRA_DEVICE_BINDING_CONDITIONS,
        DRA_RESOURCE_CLAIM_DEVICE_STATUS,
    }
)

#: DynamicResources waits for bindings only where both are on.
BINDING_TIMEOUT_GATES: Final[Gates] = frozenset({DRA_DEVICE_BINDING_CONDITIONS, DRA_RESOURCE_CLAIM_DEVICE_STATUS})
