"""KubeSchedulerConfiguration v1: decoding, defaults, validation; and the old Policy file's conversion.

Knows names and arguments of plugins, not their code. The way of a file:

    gates     versions of Kubernetes and their feature gates
    load      text -> document -> Config, or ConfigErrors with every fault
    decode    document -> types and args, strictly
    defaults  what the file leaves out; the user's plugins merged with the default ones
    validation, argvalidation   kube-scheduler's rules, with its field paths
    expand    the plugins at each extension point, in running order, with weights
    versions, policy, oldversions, oldplugins   the forms of before v1, turned into today's
"""

from moorage.config.args import (
    ARGS_TYPES,
    Args,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from moorage.config.expand import ProfilePlugins
from moorage.config.fields import ConfigErrors, Fault, Stage
from moorage.config.gates import DEFAULT_FEATURES, Features, features_of
from moorage.config.load import Config, Profile, default_config, load_config, parse_config
from moorage.config.points import EXTENSION_POINTS, IN_TREE_POINTS, KnownPlugins
from moorage.config.types import (
    ClientConnection,
    Extender,
    ExtenderManagedResource,
    ExtenderTLSConfig,
    LeaderElection,
)

__all__ = [
    "ARGS_TYPES",
    "DEFAULT_FEATURES",
    "EXTENSION_POINTS",
    "IN_TREE_POINTS",
    "Args",
    "ClientConnection",
    "Config",
    "ConfigErrors",
    "DefaultPreemptionArgs",
    "DynamicResourcesArgs",
    "Extender",
    "ExtenderManagedResource",
    "ExtenderTLSConfig",
    "Fault",
    "Features",
    "InterPodAffinityArgs",
    "KnownPlugins",
    "LeaderElection",
    "NodeAffinityArgs",
    "NodeResourcesBalancedAllocationArgs",
    "NodeResourcesFitArgs",
    "PodTopologySpreadArgs",
    "Profile",
    "ProfilePlugins",
    "RequestedToCapacityRatioParam",
    "ResourceSpec",
    "ScoringStrategy",
    "Stage",
    "UtilizationShapePoint",
    "VolumeBindingArgs",
    "default_config",
    "features_of",
    "load_config",
    "parse_config",
]
