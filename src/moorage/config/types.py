"""The fields of KubeSchedulerConfiguration v1. What a file leaves out, or sets to null, has the default here.
At the end: the forms it had before v1.

Defaults that depend on more than the field itself are in moorage.config.defaults.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from moorage.values.duration import Duration

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Section(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The root of the configuration's structs: camelCase in files, never changed in place."""


class LeaderElection(Section, frozen=True):
    """leaderElection: the lease that lets one of several schedulers work."""

    leader_elect: bool = True
    lease_duration: Duration = Duration.of_seconds(15)
    renew_deadline: Duration = Duration.of_seconds(10)
    retry_period: Duration = Duration.of_seconds(2)
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


class ClientConnection(Section, frozen=True):
    """clientConnection: how to reach the API server, and how fast."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50.0
    burst: Int32 = 100


class Plugin(Section, frozen=True):
    """A plugin by name; the weight counts where nodes are scored, 0 means 1."""

    name: str = ""
    weight: Int32 = 0


class PluginSet(Section, frozen=True):
    """What to run at a point besides, and instead of, the defaults. "*" disables all of them."""

    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


class Plugins(Section, frozen=True):
    """A plugin set for each extension point; multiPoint stands for every point a plugin serves."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    #: Since 1.37; see PodGroupPostFilterPoint among the gates.
    pod_group_post_filter: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()

    def at(self, point: str) -> PluginSet:
        """The set at a point named as in files ("preFilter")."""
        plugins: PluginSet = getattr(self, _FIELD_OF_POINT[point])
        return plugins


_FIELD_OF_POINT = {field.encode_name: field.name for field in msgspec.structs.fields(Plugins)}


class PluginConfig(Section, frozen=True):
    """Arguments for a plugin: typed (moorage.config.args) for those in-tree, as written for others."""

    name: str = ""
    args: Any = None


class ProfileSection(Section, frozen=True):
    """profiles[]: one scheduler among those a process plays, known by the name pods ask for."""

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class ExtenderManagedResource(Section, frozen=True):
    """A resource an extender looks after."""

    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(Section, frozen=True):
    """How to trust an extender and be trusted by it. The data fields hold PEM, base64 in files."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class Extender(Section, frozen=True):
    """A webhook that filters, scores, preempts or binds beside the plugins."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(default=False, name="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: Duration = Duration.of_seconds(5)
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class KubeSchedulerConfiguration(Section, frozen=True):
    """The whole file."""

    parallelism: Int32 = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Int32 = 0
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[ProfileSection, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False


POLICY: Final = "Policy"
_GROUP = API_VERSION.partition("/")[0]
#: apiVersion -> the version, oldest first; v1alpha1 once had a group of its own.
OLD_VERSIONS: Final[Mapping[str, str]] = {
    "componentconfig/v1alpha1": "v1alpha1",
    f"{_GROUP}/v1alpha1": "v1alpha1",
    f"{_GROUP}/v1alpha2": "v1alpha2",
    f"{_GROUP}/v1beta1": "v1beta1",
    f"{_GROUP}/v1beta2": "v1beta2",
    f"{_GROUP}/v1beta3": "v1beta3",
}


def old_version(document: Any) -> str:
    """Which form of before v1 a document has: "Policy", "v1alpha1" and so on; "" for any other."""
    if not isinstance(document, Mapping):
        return ""
    if document.get("kind") == POLICY:
        return POLICY
    version = document.get("apiVersion")
    return OLD_VERSIONS.get(version, "") if isinstance(version, str) and document.get("kind") == KIND else ""


def convert_hint(document: Any, source: str) -> str:
    """What to run to bring a document of an old form into today's; "" for any other document."""
    if not old_version(document):
        return ""
    return f"run `moorage config convert {source or 'FILE'}` to have it in today's form"
