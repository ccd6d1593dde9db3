"""The built-in kinds, as one table. Everything that depends on a kind's name starts here."""

from dataclasses import dataclass, field

from moorage.config import Features

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Kind:
    """One served resource of one API version: its names, scope, subresources and shape."""

    group: str
    version: str
    kind: str
    plural: str
    is_namespaced: bool
    struct: str = ""
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = field(default=ALL_VERBS)
    counts_generations: bool = False
    returns_deleted: bool = False
    #: Feature gates that must be on for it to be served; off where one begins with `!`.
    gates: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """`apps/v1`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """`deployments.apps`, or `pods` for the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def is_served(self, features: Features) -> bool:
        """Whether an API server with these features has it."""
        return all((gate.lstrip("!") in features) != gate.startswith("!") for gate in self.gates)


# `generation`: metadata.generation counts changes. `returned`: a delete answers the object, not a Status.
# A group line is `group version package [gate,..]`; a kind line is
# `Kind plural scope [short=..] [all] [api-extensions] [verbs=..] [gate=..] [generation] [returned] [subresource..]`.
_TABLE = """
- v1 core/v1
  Binding bindings N verbs=create
  ConfigMap configmaps N short=cm
  Endpoints endpoints N short=ep
  Event events N short=ev
  LimitRange limitranges N short=limits
  Namespace namespaces C short=ns verbs=create,delete,get,list,patch,update,watch returned status finalize
  Node nodes C short=no status
  PersistentVolume persistentvolumes C short=pv returned status
  PersistentVolumeClaim persistentvolumeclaims N short=pvc returned status
  Pod pods N short=po returned all generation status binding eviction ephemeralcontainers resize log
  PodTemplate podtemplates N returned generation
  ReplicationController replicationcontrollers N short=rc all generation status scale
  ResourceQuota resourcequotas N short=quota returned status
  Secret secrets N
  Service services N short=svc returned all status
  ServiceAccount serviceaccounts N short=sa returned token
admissionregistration.k8s.io v1 admissionregistration/v1
  MutatingWebhookConfiguration mutatingwebhookconfigurations C api-extensions generation
  ValidatingAdmissionPolicy validatingadmissionpolicies C api-extensions generation status
  ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings C api-extensions generation
  ValidatingWebhookConfiguration validatingwebhookconfigurations C api-extensions generation
apiextensions.k8s.io v1 apiextensions/v1
  CustomResourceDefinition customresourcedefinitions C short=crd,crds api-extensions generation status
apps v1 apps/v1
  ControllerRevision controllerrevisions N
  DaemonSet daemonsets N short=ds all generation status
  Deployment deployments N short=deploy all generation status scale
  ReplicaSet replicasets N short=rs all generation status scale
  StatefulSet statefulsets N short=sts all generation status scale
authentication.k8s.io v1 authentication/v1
  SelfSubjectReview selfsubjectreviews C verbs=create
  TokenReview tokenreviews C verbs=create
authorization.k8s.io v1 authorization/v1
  LocalSubjectAccessReview localsubjectaccessreviews N verbs=create
  SelfSubjectAccessReview selfsubjectaccessreviews C verbs=create
  SelfSubjectRulesReview selfsubjectrulesreviews C verbs=create
  SubjectAccessReview subjectaccessreviews C verbs=create
autoscaling v2 autoscaling/v2
  HorizontalPodAutoscaler horizontalpodautoscalers N short=hpa all status
batch v1 batch/v1
  CronJob cronjobs N short=cj all generation status
  Job jobs N all generation status
certificates.k8s.io v1 certificates/v1
  CertificateSigningRequest certificatesigningrequests C short=csr status approval
coordination.k8s.io v1 coordination/v1
  Lease leases N
discovery.k8s.io v1 discovery/v1
  EndpointSlice endpointslices N generation
events.k8s.io v1 events/v1
  Event events N short=ev
flowcontrol.apiserver.k8s.io v1 flowcontrol/v1
  FlowSchema flowschemas C generation status
  PriorityLevelConfiguration prioritylevelconfigurations C generation status
networking.k8s.io v1 networking/v1
  Ingress ingresses N short=ing generation status
  IngressClass ingressclasses C generation
  IPAddress ipaddresses C short=ip
  NetworkPolicy networkpolicies N short=netpol generation
  ServiceCIDR servicecidrs C status
node.k8s.io v1 node/v1
  RuntimeClass runtimeclasses C
policy v1 policy/v1
  PodDisruptionBudget poddisruptionbudgets N short=pdb generation status
rbac.authorization.k8s.io v1 rbac/v1
  ClusterRole clusterroles C
  ClusterRoleBinding clusterrolebindings C
  Role roles N
  RoleBinding rolebindings N
resource.k8s.io v1 resource/v1
  DeviceClass deviceclasses C returned generation
  DeviceTaintRule devicetaintrules C returned generation status
  ResourceClaim resourceclaims N returned status
  ResourceClaimTemplate resourceclaimtemplates N returned
  ResourceSlice resourceslices C returned generation
scheduling.k8s.io v1 scheduling/v1
  PriorityClass priorityclasses C short=pc generation
scheduling.k8s.io v1alpha2 scheduling/v1alpha2 GenericWorkload,!PodGroupsBeta
  PodGroup podgroups N status
  Workload workloads N
scheduling.k8s.io v1beta1 scheduling/v1beta1 GenericWorkload,PodGroupsBeta
  PodGroup podgroups N status
  Workload workloads N
scheduling.k8s.io v1alpha3 scheduling/v1alpha3 GenericWorkload,PodGroupsBeta
  CompositePodGroup compositepodgroups N gate=CompositePodGroup status
  PodGroup podgroups N status
  Workload workloads N
storage.k8s.io v1 storage/v1
  CSIDriver csidrivers C returned
  CSINode csinodes C returned
  CSIStorageCapacity csistoragecapacities N
  StorageClass storageclasses C short=sc returned
  VolumeAttachment volumeattachments C returned status
  VolumeAttributesClass volumeattributesclasses C short=vac returned
"""


def _kind(words: list[str], group: str, version: str, package: str, gates: tuple[str, ...]) -> Kind:
    name, plural, scope, *marks = words
    keyed = dict(mark.split("=", 1) for mark in marks if "=" in mark)
    plain = [mark for mark in marks if "=" not in mark]
    categories = tuple(mark for mark in plain if mark in ("all", "api-extensions"))
    return Kind(
        group=group,
        version=version,
        kind=name,
        plural=plural,
        is_namespaced=scope == "N",
        struct=f"{package}.{name}",
        singular=name.lower(),
        list_kind=f"{name}List",
        short_names=tuple(keyed["short"].split(",")) if "short" in keyed else (),
        categories=categories,
        subresources=tuple(m for m in plain if m not in (*categories, "generation", "returned")),
        verbs=tuple(keyed["verbs"].split(",")) if "verbs" in keyed else ALL_VERBS,
        counts_generations="generation" in plain,
        returns_deleted="returned" in plain,
        gates=gates + ((keyed["gate"],) if "gate" in keyed else ()),
    )


def _parse(text: str) -> tuple[Kind, ...]:
    kinds: list[Kind] = []
    group = version = package = ""
    gates: list[str] = []
    for line in text.strip().splitlines():
        words = line.split()
        if line.startswith(" "):
            kinds.append(_kind(words, group, version, package, tuple(gates)))
        else:
            group, version, package, *gates = " ".join(words).replace(",", " ").split()
            group = "" if group == "-" else group
    return tuple(kinds)


BUILT_IN: tuple[Kind, ...] = _parse(_TABLE)

#: What a subresource's requests and answers are, where they are not the kind itself.
SUBRESOURCE_KINDS = {
    "scale": ("autoscaling", "v1", "Scale"),
    "binding": ("", "v1", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
}
SUBRESOURCE_VERBS = {
    "binding": ("create",),
    "eviction": ("create",),
    "token": ("create",),
    "log": ("get",),
    "finalize": ("update",),
}
READ_WRITE_VERBS = ("get", "patch", "update")
