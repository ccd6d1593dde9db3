"""The strategy of each built-in kind: which defaults, admission steps and rules apply to it."""

from dataclasses import replace

from moorage.apiserver.admission import groups, limits, namespaces, objects, pods, priority
from moorage.apiserver.crd import definitions
from moorage.apiserver.defaults import objects as object_defaults
from moorage.apiserver.defaults import pods as pod_defaults
from moorage.apiserver.defaults import workloads as workload_defaults
from moorage.apiserver.kinds import Kind
from moorage.apiserver.registry import Strategy
from moorage.apiserver.validation import devices as device_rules
from moorage.apiserver.validation import events as event_rules
from moorage.apiserver.validation import groups as group_rules
from moorage.apiserver.validation import grouptemplates as workload_templates
from moorage.apiserver.validation import metadata
from moorage.apiserver.validation import objects as rules
from moorage.apiserver.validation import pods as pod_rules
from moorage.apiserver.validation import storage as storage_rules
from moorage.apiserver.validation import workloads as workload_rules

_POD = Strategy(
    defaults=(pod_defaults.default_pod,),
    on_create=(
        groups.drop_scheduling_group,
        limits.apply_limit_ranges,
        pods.set_service_account,
        priority.set_priority,
        pods.set_runtime_class,
        pods.add_tolerations,
        pods.add_topology_labels,
        pods.set_first_status,
        pods.merge_label_keys,
    ),
    on_update=(groups.drop_scheduling_group, pods.keep_tolerations, priority.keep_priority),
    on_status=(pods.keep_generation_of_status,),
    validate=(pod_rules.validate_pod,),
    validate_create=(pod_rules.validate_new_pod,),
    validate_update=(pod_rules.validate_gated_update,),
    validate_status=(pod_rules.validate_pod_status,),
    grace_period=pods.grace_period,
)
_ROLE = Strategy(validate=(rules.validate_role,), validate_name=metadata.path_segment, creates_on_update=True)
_ROLE_BINDING = Strategy(
    defaults=(object_defaults.default_binding_of_roles,),
    validate=(rules.validate_role_binding,),
    validate_update=(rules.keeps_role,),
    validate_name=metadata.path_segment,
    creates_on_update=True,
)
_POD_GROUP = Strategy(
    defaults=(object_defaults.default_podgroup,),
    on_create=(groups.drop_gated_fields, groups.set_group_priority, groups.protect),
    on_update=(groups.drop_gated_fields,),
    on_status=(groups.drop_gated_status,),
    validate_create=(group_rules.validate_podgroup,),
    validate_update=(group_rules.validate_podgroup_update,),
    validate_status=(group_rules.validate_group_status,),
    demands_version=True,
)
_WORKLOAD = Strategy(
    on_create=(groups.drop_gated_fields,),
    on_update=(groups.drop_gated_fields,),
    validate_create=(workload_templates.validate_workload,),
    validate_update=(workload_templates.validate_workload_update,),
    demands_version=True,
)

STRATEGIES: dict[str, Strategy] = {
    "pods": _POD,
    "podtemplates": Strategy(defaults=(workload_defaults.default_podtemplate,)),
    "namespaces": Strategy(
        defaults=(object_defaults.default_namespace,),
        on_create=(namespaces.start_namespace,),
        on_update=(namespaces.keep_namespace_spec,),
        validate_name=metadata.dns_label,
    ),
    "nodes": Strategy(
        defaults=(object_defaults.default_node,),
        validate=(rules.validate_node,),
        validate_update=(rules.validate_node_update,),
        keeps_status_on_create=True,
    ),
    "services": Strategy(
        defaults=(object_defaults.default_service,),
        on_create=(objects.allocate_service,),
        on_update=(objects.keep_service,),
        validate=(rules.validate_service,),
        validate_update=(rules.validate_service_update,),
        validate_name=metadata.dns_label,
        creates_on_update=True,
    ),
    "configmaps": Strategy(validate=(rules.validate_configmap,), validate_update=(rules.keeps_data_if_immutable,)),
    "secrets": Strategy(
        defaults=(object_defaults.default_secret,),
        validate=(rules.validate_secret,),
        validate_update=(rules.keeps_data_if_immutable, rules.keeps_type),
    ),
    "endpoints": Strategy(defaults=(object_defaults.default_endpoints,), creates_on_update=True),
    "events": Strategy(validate=(event_rules.validate_core_event,), creates_on_update=True),
    "events.events.k8s.io": Strategy(validate_create=(event_rules.validate_event,), creates_on_update=True),
    "limitranges": Strategy(defaults=(object_defaults.default_limitrange,), creates_on_update=True),
    "persistentvolumes": Strategy(
        defaults=(object_defaults.default_persistentvolume,),
        on_create=(objects.start_volume,),
        validate=(storage_rules.validate_persistentvolume,),
        validate_update=(storage_rules.validate_persistentvolume_update,),
    ),
    "persistentvolumeclaims": Strategy(
        defaults=(object_defaults.default_persistentvolumeclaim,),
        on_create=(objects.set_storage_class,),
        validate=(storage_rules.validate_persistentvolumeclaim,),
        validate_update=(storage_rules.validate_persistentvolumeclaim_update,),
    ),
    "replicationcontrollers": Strategy(
        defaults=(workload_defaults.default_replicationcontroller,),
        on_create=(objects.start_replicas,),
        validate=(workload_rules.validate_replicationcontroller,),
        validate_status=(workload_rules.validate_counts,),
    ),
    "deployments.apps": Strategy(
        defaults=(workload_defaults.default_deployment,),
        on_create=(objects.start_status,),
        validate=(workload_rules.validate_deployment,),
        validate_status=(workload_rules.validate_counts,),
        validate_update=(workload_rules.keeps_selector,),
    ),
    "replicasets.apps": Strategy(
        defaults=(workload_defaults.default_replicaset,),
        on_create=(objects.start_replicas,),
        validate=(workload_rules.validate_replicaset,),
        validate_status=(workload_rules.validate_counts,),
        validate_update=(workload_rules.keeps_selector,),
    ),
    "daemonsets.apps": Strategy(
        defaults=(workload_defaults.default_daemonset,),
        on_create=(objects.start_daemons,),
        on_update=(objects.count_templates,),
        validate=(workload_rules.validate_daemonset,),
        validate_status=(workload_rules.validate_counts,),
        validate_update=(workload_rules.keeps_selector,),
    ),
    "statefulsets.apps": Strategy(
        defaults=(workload_defaults.default_statefulset,),
        on_create=(objects.start_stateful_replicas, objects.settle_max_unavailable),
        on_update=(objects.settle_max_unavailable,),
        validate=(workload_rules.validate_statefulset,),
        validate_status=(workload_rules.validate_counts,),
        validate_update=(workload_rules.validate_statefulset_update,),
    ),
    "jobs.batch": Strategy(
        defaults=(workload_defaults.default_job,),
        on_create=(objects.select_job_pods,),
        validate=(workload_rules.validate_job,),
        validate_status=(workload_rules.validate_counts,),
        validate_update=(workload_rules.validate_job_update,),
    ),
    "cronjobs.batch": Strategy(
        defaults=(workload_defaults.default_cronjob,),
        on_create=(objects.start_status,),
        validate=(workload_rules.validate_cronjob,),
        validate_status=(workload_rules.validate_counts,),
    ),
    "horizontalpodautoscalers.autoscaling": Strategy(
        defaults=(object_defaults.default_autoscaler,), validate=(rules.validate_autoscaler,)
    ),
    "poddisruptionbudgets.policy": Strategy(
        on_create=(objects.start_budget,), validate=(rules.validate_budget,), demands_version=True
    ),
    "priorityclasses.scheduling.k8s.io": Strategy(
        defaults=(object_defaults.default_priorityclass,),
        on_create=(priority.check_only_default,),
        on_update=(priority.check_only_default,),
        validate=(rules.validate_priorityclass,),
        validate_update=(rules.validate_priorityclass_update,),
        on_delete=priority.keep_system_classes,
    ),
    "podgroups.scheduling.k8s.io": _POD_GROUP,
    "podgroups.scheduling.k8s.io/v1alpha2": replace(
        _POD_GROUP,
        on_create=(*_POD_GROUP.on_create, groups.require_template),
        validate_update=(group_rules.keeps_group,),
        demands_version=False,
    ),
    "compositepodgroups.scheduling.k8s.io": replace(
        _POD_GROUP,
        on_create=(groups.drop_gated_fields, groups.set_group_priority),
        validate_create=(group_rules.validate_compositepodgroup,),
        validate_update=(group_rules.keeps_group,),
    ),
    "workloads.scheduling.k8s.io": _WORKLOAD,
    "workloads.scheduling.k8s.io/v1alpha2": replace(
        _WORKLOAD, validate_update=(workload_templates.keeps_workload,), demands_version=False
    ),
    "storageclasses.storage.k8s.io": Strategy(
        defaults=(object_defaults.default_storageclass,),
        validate=(storage_rules.validate_storageclass,),
        validate_update=(storage_rules.validate_storageclass_update,),
    ),
    "csidrivers.storage.k8s.io": Strategy(defaults=(object_defaults.default_csidriver,)),
    "leases.coordination.k8s.io": Strategy(validate=(rules.validate_lease,), creates_on_update=True),
    "runtimeclasses.node.k8s.io": Strategy(creates_on_update=True),
    "endpointslices.discovery.k8s.io": Strategy(defaults=(object_defaults.default_endpointslice,)),
    "networkpolicies.networking.k8s.io": Strategy(defaults=(object_defaults.default_networkpolicy,)),
    "ingressclasses.networking.k8s.io": Strategy(defaults=(object_defaults.default_ingressclass,)),
    "resourceclaims.resource.k8s.io": Strategy(
        defaults=(object_defaults.default_resourceclaim,),
        validate=(rules.validate_resourceclaim,),
        validate_update=(rules.keeps_spec,),
        validate_status=(device_rules.validate_claim_status,),
    ),
    "resourceclaimtemplates.resource.k8s.io": Strategy(
        defaults=(object_defaults.default_resourceclaimtemplate,),
        validate=(rules.validate_resourceclaimtemplate,),
        validate_update=(rules.keeps_spec,),
    ),
    "deviceclasses.resource.k8s.io": Strategy(validate=(device_rules.validate_deviceclass,)),
    "resourceslices.resource.k8s.io": Strategy(
        on_create=(objects.date_taints,),
        on_update=(objects.date_taints,),
        validate=(device_rules.validate_slice,),
        validate_update=(device_rules.validate_slice_update,),
    ),
    "devicetaintrules.resource.k8s.io": Strategy(
        on_create=(objects.date_rule,),
        on_update=(objects.date_rule,),
        validate=(device_rules.validate_taintrule,),
        validate_status=(device_rules.validate_taintrule_status,),
    ),
    definitions.DEFINITIONS: definitions.STRATEGY,
    "roles.rbac.authorization.k8s.io": _ROLE,
    "clusterroles.rbac.authorization.k8s.io": _ROLE,
    "rolebindings.rbac.authorization.k8s.io": _ROLE_BINDING,
    "clusterrolebindings.rbac.authorization.k8s.io": _ROLE_BINDING,
}
_PLAIN = Strategy()


def strategy_for(kind: Kind) -> Strategy:
    """The strategy of a built-in kind: that of its version, or of all."""
    return STRATEGIES.get(f"{kind.resource}/{kind.version}", STRATEGIES.get(kind.resource, _PLAIN))
