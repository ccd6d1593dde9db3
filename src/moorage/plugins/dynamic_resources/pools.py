"""The pools that a node reaches: which slices count, in which order their devices are tried."""

from collections.abc import Iterable, Iterator

from moorage.columns import NodeInfo
from moorage.columns.devices import DeviceFacts, Inventory, SliceFacts
from moorage.errors import InputError
from moorage.plugins.dynamic_resources.rules import BrokenSearch, Rules
from moorage.values.quantity import parse_quantity

PoolId = tuple[str, str]


class Pool:
    """A pool as seen from one node. Only a whole and valid one has devices."""

    __slots__ = ("counters", "devices", "elsewhere", "id", "is_incomplete", "is_invalid")

    def __init__(self, id_: PoolId, *, is_incomplete: bool = False) -> None:
        self.id = id_
        self.is_incomplete = is_incomplete
        self.is_invalid = False
        #: Within the node's reach, in the order in which they are tried.
        self.devices: tuple[DeviceFacts, ...] = ()
        #: Devices of the pool that the node does not reach: they, too, draw on its counters.
        self.elsewhere: tuple[DeviceFacts, ...] = ()
        #: (counter set, counter) -> nano units.
        self.counters: dict[tuple[str, str], int] = {}

    def __str__(self) -> str:
        return "/".join(self.id)

    @property
    def waits_for_conditions(self) -> bool:
        """Whether a device of it has to be made ready before a pod may start: such pools are tried last."""
        return any(one.device.binding_conditions for one in self.devices)

    def drawing(self) -> Iterator[DeviceFacts]:
        """The devices that draw on counters, wherever they are."""
        return (one for devices in (self.devices, self.elsewhere) for one in devices if one.counters)


def gather(inventory: Inventory, node: NodeInfo, rules: Rules) -> list[Pool]:
    """The pools in the order in which they are tried. Raises BrokenSearch."""
    here: dict[PoolId, list[SliceFacts]] = {}
    for facts in _concerning(inventory, node, rules):
        known = here.get(facts.pool)
        generation = facts.slice.spec.pool.generation
        if known is None or generation > known[0].slice.spec.pool.generation:
            here[facts.pool] = [facts]
        elif generation == known[0].slice.spec.pool.generation:
            known.append(facts)
    pools = [pool for id_, slices in here.items() if (pool := _pool(id_, slices, inventory, rules)) is not None]
    pools.sort(key=lambda pool: (pool.waits_for_conditions, pool.id))
    return pools


def _concerning(inventory: Inventory, node: NodeInfo, rules: Rules) -> Iterator[SliceFacts]:
    for facts in _candidates(inventory, node, rules):
        spec = facts.slice.spec
        if not rules.partitionable and (spec.per_device_node_selection or spec.shared_counters):
            continue
        if not rules.compatibility_groups and facts.has_groups:
            continue
        if spec.shared_counters and not rules.counters_by_node_rule:
            yield facts
            continue
        try:
            if facts.concerns(node.name, node.labels):
                yield facts
        except InputError as problem:
            text = f"gather pool information: failed to perform node selection for slice {facts.name}: {problem}"
            raise BrokenSearch(text) from None


def _candidates(inventory: Inventory, node: NodeInfo, rules: Rules) -> Iterable[SliceFacts]:
    """The slices to look at. Their order matters where slices of a pool do not agree on how many they are."""
    local = inventory.local(node.name)
    if rules.counters_by_node_rule:
        return (*local, *inventory.shared())
    devices = [facts for facts in local if not facts.slice.spec.shared_counters]
    counters = [facts for facts in local if facts.slice.spec.shared_counters]
    return (*devices, *inventory.shared(), *counters, *inventory.counters_elsewhere(node.name))


def _pool(id_: PoolId, here: list[SliceFacts], inventory: Inventory, rules: Rules) -> Pool | None:
    """The pool, None where a newer generation is on its way."""
    wanted, generation = here[0].slice.spec.pool.resource_slice_count, here[0].slice.spec.pool.generation
    rest: list[SliceFacts] = []
    if len(here) != wanted:
        everywhere = list(inventory.of_pool(id_))
        if any(facts.slice.spec.pool.generation > generation for facts in everywhere):
            return None
        same = [facts for facts in everywhere if facts.slice.spec.pool.generation == generation]
        if not rules.compatibility_groups:
            same = [facts for facts in same if not facts.has_groups]
        if len(same) != wanted:
            return Pool(id_, is_incomplete=True)
        names = {facts.name for facts in here}
        rest = [facts for facts in same if facts.name not in names]
    return _whole(id_, sorted(here, key=lambda facts: facts.name), rest, rules)


def _whole(id_: PoolId, here: list[SliceFacts], rest: list[SliceFacts], rules: Rules) -> Pool:
    pool = Pool(id_)
    counting = [facts for facts in (*here, *rest) if rules.partitionable and facts.slice.spec.shared_counters]
    pool.devices = tuple(one for facts in here if facts not in counting for one in facts.devices)
    pool.elsewhere = tuple(one for facts in rest if facts not in counting for one in facts.devices)
    pool.is_invalid = not _is_valid(pool, counting, rules)
    if pool.is_invalid:
        pool.devices = pool.elsewhere = ()
    return pool


def _is_valid(pool: Pool, counting: list[SliceFacts], rules: Rules) -> bool:
    names = [one.device.name for one in pool.devices]
    if len(set(names)) != len(names):
        return False
    if not rules.partitionable:
        return True
    sets: set[str] = set()
    for facts in counting:
        for counter_set in facts.slice.spec.shared_counters:
            if counter_set.name in sets:
                return False
            sets.add(counter_set.name)
            for name, counter in counter_set.counters.items():
                pool.counters[counter_set.name, name] = parse_quantity(counter.value)
    for one in (*pool.devices, *pool.elsewhere):
        if any(consumed.counter_set not in sets for consumed in one.device.consumes_counters):
            return False
        if any(key not in pool.counters for key in one.counters):
            return False
    return True
