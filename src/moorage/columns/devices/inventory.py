"""What slices publish, ready to be searched: devices with their selectors' answers, by node and by pool.

A device keeps what selectors said of it for as long as it stays the same, whatever happens to the slices around it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from moorage.cel import CompileError, DeviceView, EvaluationError, selector
from moorage.cel.errors import CostExceeded
from moorage.columns.changes import ChangeLog
from moorage.columns.devices.claims import DeviceId
from moorage.objects import Device, DeviceTaint, DeviceTaintRule, KubeObject, NodeSelector, ResourceSlice
from moorage.values.nodeselector import Term, compile_terms
from moorage.values.quantity import parse_quantity

#: (driver, pool)
PoolId = tuple[str, str]
#: What a selector says of a device: yes, no, or what broke.
Answer = bool | EvaluationError | CostExceeded | CompileError


class NodeRule:
    """Which nodes reach a device, or all devices of a slice."""

    __slots__ = ("_selector", "_terms", "all_nodes", "node_name")

    def __init__(self, node_name: str, node_selector: NodeSelector | None, *, all_nodes: bool) -> None:
        self.node_name = node_name
        self.all_nodes = all_nodes
        self._selector = node_selector
        self._terms: tuple[Term, ...] | None = None

    @property
    def is_set(self) -> bool:
        """Whether it says anything."""
        return bool(self.node_name) or self.all_nodes or self._selector is not None

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether the node is one of them. Raises InputError for a selector that cannot be read."""
        if self.node_name:
            return self.node_name == name
        if self.all_nodes:
            return True
        if self._selector is None:
            return False
        if self._terms is None:
            self._terms = compile_terms(self._selector.node_selector_terms)
        return any(term.matches(name, labels) for term in self._terms)


class DeviceFacts:
    """A device with what can be known of it without asking who holds it."""

    __slots__ = ("_answers", "_lists", "_view", "counters", "device", "id", "rule", "slice", "taints")

    def __init__(self, device: Device, slice_: ResourceSlice, *, lists: bool) -> None:
        spec = slice_.spec
        self.device = device
        self.id: DeviceId = (spec.driver, spec.pool.name, device.name)
        self.slice = slice_
        self.taints: tuple[DeviceTaint, ...] = device.taints
        self.rule = NodeRule(device.node_name, device.node_selector, all_nodes=device.all_nodes)
        #: (counter set, counter) -> nano units that the device takes.
        self.counters = {
            (one.counter_set, name): parse_quantity(counter.value)
            for one in device.consumes_counters
            for name, counter in one.counters.items()
        }
        self._lists = lists
        self._view: DeviceView | EvaluationError | None = None
        self._answers: dict[str, Answer] = {}

    def answer(self, expression: str) -> Answer:
        """What a selector says of the device."""
        known = self._answers.get(expression)
        if known is None:
            known = self._answers[expression] = self._ask(expression)
        return known

    def _ask(self, expression: str) -> Answer:
        compiled = selector(expression, lists=self._lists)
        if isinstance(compiled, CompileError):
            return compiled
        if self._view is None:
            try:
                self._view = DeviceView(self.id[0], self.device, lists=self._lists)
            except EvaluationError as problem:
                self._view = problem
        if isinstance(self._view, EvaluationError):
            return self._view
        try:
            return compiled.matches(self._view)
        except (EvaluationError, CostExceeded) as problem:
            return problem

    def attribute(self, name: str) -> Any:
        """(type, value) of an attribute by its full name; None where the device has none."""
        found = self.device.attributes.get(name)
        if found is None:
            domain, slash, id_ = name.partition("/")
            found = self.device.attributes.get(id_) if slash and domain == self.id[0] else None
            if found is None:
                return None
        for kind in ("string", "int_value", "bool_value", "version"):
            value = getattr(found, kind)
            if value is not None:
                return kind, value
        return "unknown", None

    def taken_over(self, device: Device, slice_: ResourceSlice) -> "DeviceFacts":
        """The same device in a newer slice, with the answers it has given."""
        twin = DeviceFacts(device, slice_, lists=self._lists)
        twin._view, twin._answers = self._view, self._answers
        return twin


class SliceFacts:
    """A slice with its devices."""

    __slots__ = ("devices", "has_groups", "name", "pool", "rule", "slice")

    def __init__(self, slice_: ResourceSlice, before: "SliceFacts | None", *, lists: bool) -> None:
        spec = slice_.spec
        self.slice = slice_
        self.name = slice_.metadata.name
        self.pool: PoolId = (spec.driver, spec.pool.name)
        self.rule = NodeRule(spec.node_name, spec.node_selector, all_nodes=spec.all_nodes)
        self.has_groups = any(one.compatibility_groups for device in spec.devices for one in device.consumes_counters)
        known: dict[str, DeviceFacts] = {}
        if before is not None and before.pool == self.pool:
            known = {one.device.name: one for one in before.devices}
        self.devices: tuple[DeviceFacts, ...] = tuple(
            _facts(device, slice_, known.get(device.name), lists) for device in spec.devices
        )

    def concerns(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether the node reaches any of its devices. Raises InputError for a selector that cannot be read."""
        if self.rule.is_set:
            return self.rule.matches(name, labels)
        if self.slice.spec.per_device_node_selection:
            return any(device.rule.matches(name, labels) for device in self.devices)
        return False


def _facts(device: Device, slice_: ResourceSlice, before: DeviceFacts | None, lists: bool) -> DeviceFacts:
    if before is not None and before.device == device:
        return before.taken_over(device, slice_)
    return DeviceFacts(device, slice_, lists=lists)


class Inventory:
    """All slices, with the taints that rules put on their devices."""

    def __init__(self) -> None:
        self._slices: dict[str, SliceFacts] = {}
        self._rules: dict[str, DeviceTaintRule] = {}
        self._local: dict[str, dict[str, SliceFacts]] = {}
        self._shared: dict[str, SliceFacts] = {}
        self._pools: dict[PoolId, dict[str, SliceFacts]] = {}
        #: Slices that name a node and hold counters.
        self._counting: dict[str, SliceFacts] = {}
        #: Moves with every change.
        self.version = 0
        #: Nodes whose devices changed, or the claims on them; None for all nodes.
        self.touched: ChangeLog[str | None] = ChangeLog()
        self.undoes = False
        self._lists = True
        self._rules_count = True

    def hide_lists(self) -> None:
        """From now on selectors do not see attributes that are lists: a device that has one cannot be read."""
        if self._lists:
            self._lists = False
            for facts in list(self._slices.values()):
                self._drop(facts)
                del self._slices[facts.name]
                self.set(facts.slice)

    def ignore_rules(self) -> None:
        """From now on rules put no taints on devices."""
        self._rules_count = False
        self._taint_all()

    def __iter__(self) -> Iterator[SliceFacts]:
        return iter(self._slices.values())

    def set(self, item: KubeObject) -> None:
        """A slice or a rule came or changed."""
        self.version += 1
        if isinstance(item, DeviceTaintRule):
            self._rules[item.key] = item
            self._taint_all()
            return
        assert isinstance(item, ResourceSlice)
        before = self._slices.get(item.key)
        if before is not None:
            self.touch(before.pool)
            self._drop(before)
        facts = SliceFacts(item, before, lists=self._lists)
        self._slices[item.key] = facts
        self._taint(facts)
        node_name = item.spec.node_name
        home = self._local.setdefault(node_name, {}) if node_name else self._shared
        home[item.key] = facts
        if node_name and item.spec.shared_counters:
            self._counting[item.key] = facts
        self._pools.setdefault(facts.pool, {})[item.key] = facts
        self.touch(facts.pool)

    def remove(self, item: KubeObject) -> None:
        """A slice or a rule is gone."""
        self.version += 1
        if isinstance(item, DeviceTaintRule):
            self._rules.pop(item.key, None)
            self._taint_all()
            return
        before = self._slices.pop(item.key, None)
        if before is not None:
            self.touch(before.pool)
            self._drop(before)

    def _drop(self, facts: SliceFacts) -> None:
        name, node_name = facts.name, facts.slice.spec.node_name
        home = self._local[node_name] if node_name else self._shared
        home.pop(name, None)
        self._counting.pop(name, None)
        if node_name and not home:
            del self._local[node_name]
        del self._pools[facts.pool][name]
        if not self._pools[facts.pool]:
            del self._pools[facts.pool]

    def touch(self, pool: PoolId) -> None:
        """Something about a pool changed: whoever reaches it may get another answer."""
        names = {facts.slice.spec.node_name for facts in self.of_pool(pool)}
        if "" in names or self._counting:
            self.touched.append(None)
            return
        for name in names:
            self.touched.append(name)

    def local(self, node_name: str) -> Iterable[SliceFacts]:
        """The slices that name the node."""
        return self._local.get(node_name, {}).values()

    def shared(self) -> Iterable[SliceFacts]:
        """The slices that name no node: whoever reaches them."""
        return self._shared.values()

    def counters_elsewhere(self, node_name: str) -> Iterable[SliceFacts]:
        """The slices with counters that name another node."""
        return [facts for facts in self._counting.values() if facts.slice.spec.node_name != node_name]

    def of_pool(self, pool: PoolId) -> Iterable[SliceFacts]:
        """All slices of a pool, whatever their generation."""
        return self._pools.get(pool, {}).values()

    def _taint_all(self) -> None:
        self.touched.append(None)
        for facts in self._slices.values():
            self._taint(facts)

    def _taint(self, facts: SliceFacts) -> None:
        rules = self._rules.values() if self._rules_count else ()
        for one in facts.devices:
            one.taints = (*one.device.taints, *(rule.spec.taint for rule in rules if _selects(rule, one.id)))


def _selects(rule: DeviceTaintRule, device: DeviceId) -> bool:
    wanted = rule.spec.device_selector
    if wanted is None:
        return False
    asked = (wanted.driver, wanted.pool, wanted.device)
    return all(one is None or one == has for one, has in zip(asked, device, strict=True))
