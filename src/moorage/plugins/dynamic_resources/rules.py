"""What the allocator does and does not, by version and gates; and how it ends with neither devices nor without."""

from dataclasses import dataclass

from moorage.config import Features


class BrokenSearch(Exception):
    """A claim, a class, a slice or a selector is wrong: the whole attempt fails with this text."""


class SearchTooLong(Exception):
    """The search took more steps than it may."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Read once from the features; the names say what holds where they are true."""

    prioritized_list: bool
    partitionable: bool
    taints: bool
    consumable: bool
    fractional_ranges: bool
    binding_conditions: bool
    extended_resources: bool
    filter_timeout: bool
    compatibility_groups: bool
    counters_by_node_rule: bool
    distinct_devices: bool
    all_keeps_full_devices: bool
    limit_by_request: bool
    config_once: bool
    strict_capacity: bool
    shares_charged_once: bool
    errors_name_devices: bool
    silent_post_filter: bool
    in_flight_until_bound: bool
    deletion_wakes: bool
    lists: bool


def rules_of(features: Features) -> Rules:
    """The rules of these features."""
    return Rules(
        prioritized_list="DRAPrioritizedList" in features,
        partitionable="DRAPartitionableDevices" in features,
        taints="DRADeviceTaints" in features,
        consumable="DRAConsumableCapacity" in features,
        fractional_ranges="DRAFractionalCapacityRange" in features,
        binding_conditions="DRADeviceBindingConditions" in features and "DRAResourceClaimDeviceStatus" in features,
        extended_resources="DRAExtendedResource" in features,
        filter_timeout="DRASchedulerFilterTimeout" in features,
        compatibility_groups="DRADeviceCompatibilityGroups" in features or "CompatibilityGroupsHide" not in features,
        counters_by_node_rule="CountersByNodeRule" in features,
        distinct_devices="DistinctDevices" in features,
        all_keeps_full_devices="AllKeepsFullDevices" in features,
        limit_by_request="DeviceLimitByRequest" in features,
        config_once="ClaimConfigOnce" in features,
        strict_capacity="StrictCapacity" in features,
        shares_charged_once="SharesChargedOnce" in features,
        errors_name_devices="CelErrorsNameDevices" in features,
        silent_post_filter="SilentClaimPostFilter" in features,
        in_flight_until_bound="InFlightUntilBound" in features,
        deletion_wakes="ClaimDeletionWakes" in features,
        lists="ListsInSelectors" in features or "DRAListTypeAttributes" in features,
    )
