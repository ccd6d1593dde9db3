"""From the devices that were found to the allocation as a claim's status holds it."""

from moorage.columns import NodeInfo
from moorage.objects import (
    Allocation,
    DeviceAllocation,
    DeviceConfiguration,
    DeviceResult,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)
from moorage.plugins.dynamic_resources.requests import Choice, ClaimPlan
from moorage.plugins.dynamic_resources.rules import BrokenSearch, Rules
from moorage.plugins.dynamic_resources.search import Taken

FROM_CLASS, FROM_CLAIM = "FromClass", "FromClaim"
#: Stands for the id that a share of a device gets when it is reserved.
UNNAMED_SHARE = "share"


def make_allocation(plan: ClaimPlan, taken: list[Taken], node: NodeInfo, rules: Rules) -> Allocation:
    """The allocation of one claim. Shares have no ids yet. Raises BrokenSearch."""
    results = tuple(_result(one, rules) for one in taken)
    config = (*_class_config(plan), *_claim_config(plan, rules))
    if rules.config_once:
        config = tuple(_for_all(one, plan.choices) for one in config)
    return Allocation(DeviceAllocation(results, config), _node_selector(plan, taken, node))


def _result(taken: Taken, rules: Rules) -> DeviceResult:
    device, wanted = taken.device, taken.wanted
    driver, pool, name = device.id
    conditions = rules.binding_conditions
    return DeviceResult(
        request=wanted.full_name,
        driver=driver,
        pool=pool,
        device=name,
        admin_access=True if wanted.spec.admin_access else None,
        tolerations=wanted.spec.tolerations,
        binding_conditions=device.device.binding_conditions if conditions else (),
        binding_failure_conditions=device.device.binding_failure_conditions if conditions else (),
        share_id=None if taken.amounts is None else UNNAMED_SHARE,
        consumed_capacity={name: one.text for name, one in (taken.amounts or {}).items()},
    )


# ------------------------------------------------------------------------------------------------------- configuration


def _class_config(plan: ClaimPlan) -> list[DeviceConfiguration]:
    """Each class's configuration once, naming all requests that use the class."""
    requests: dict[str, list[str]] = {}
    classes = {}
    for choice in plan.choices:
        class_ = choice.chosen.class_
        classes[class_.metadata.name] = class_
        requests.setdefault(class_.metadata.name, []).append(choice.chosen.full_name)
    return [
        DeviceConfiguration(FROM_CLASS, tuple(requests[name]), one.opaque)
        for name, class_ in classes.items()
        for one in class_.spec.config
    ]


def _claim_config(plan: ClaimPlan, rules: Rules) -> list[DeviceConfiguration]:
    """The claim's own: those for all requests, and those for a request or for the alternative that was taken."""
    config = []
    for one in plan.claim.spec.devices.config:
        concerned = sum(_names(one.requests, choice) for choice in plan.choices) if one.requests else 1
        times = min(concerned, 1) if rules.config_once else concerned
        config += [DeviceConfiguration(FROM_CLAIM, one.requests, one.opaque)] * times
    return config


def _names(requests: tuple[str, ...], choice: Choice) -> bool:
    return choice.name in requests or (choice.is_list and choice.chosen.full_name in requests)


def _for_all(config: DeviceConfiguration, choices: list[Choice]) -> DeviceConfiguration:
    """What names every request names none: empty means all."""
    if config.requests and all(_names(config.requests, choice) for choice in choices):
        return DeviceConfiguration(config.source, (), config.opaque)
    return config


# ------------------------------------------------------------------------------------------------------- node selector


def _node_selector(plan: ClaimPlan, taken: list[Taken], node: NodeInfo) -> NodeSelector | None:
    """From where the devices can be reached: this node alone if one of them is local, else what their slices say."""
    fields: list[NodeSelectorRequirement] = []
    expressions: list[NodeSelectorRequirement] = []
    for one in taken:
        spec, device = one.device.slice.spec, one.device.device
        source = device if spec.per_device_node_selection else spec
        if source.node_name or device.binds_to_node:
            by_name = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node.name,))
            return NodeSelector((NodeSelectorTerm(match_fields=(by_name,)),))
        if source.node_selector is None or not source.node_selector.node_selector_terms:
            continue
        if len(source.node_selector.node_selector_terms) > 1:
            terms = len(source.node_selector.node_selector_terms)
            text = f"unsupported ResourceSlice.NodeSelector with {terms} terms"
            raise BrokenSearch(f"create NodeSelector for claim {plan.claim.metadata.name}: {text}")
        (term,) = source.node_selector.node_selector_terms
        _add_new(term.match_fields, fields)
        _add_new(term.match_expressions, expressions)
    if not fields and not expressions:
        return None
    return NodeSelector((NodeSelectorTerm(match_expressions=tuple(expressions), match_fields=tuple(fields)),))


def _add_new(found: tuple[NodeSelectorRequirement, ...], known: list[NodeSelectorRequirement]) -> None:
    for one in found:
        if not any((one.key, one.operator, set(one.values)) == (k.key, k.operator, set(k.values)) for k in known):
            known.append(one)
