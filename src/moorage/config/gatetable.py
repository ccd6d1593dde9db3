"""What each feature gate is in each version: the one place where versions of Kubernetes differ.

A column is a version, a row a gate: its stage, whether it is on unless the user says otherwise, whether that is locked;
"-" where the version does not know it. The names and values of Kubernetes' gates are those of kube-scheduler. Rows of
stage "own" are differences between versions for which Kubernetes has no gate: users neither set nor see them.
"""

from typing import Final

TABLE: Final = """
gate                                                 | 1.36                  | 1.37
APIResponseCompression                               | beta on               | beta on
APIServerIdentity                                    | beta on               | beta on
APIServerTracing                                     | GA on locked          | -
APIServerWebhookAuthenticationToken                  | -                     | alpha off
APIServingWithRoutine                                | alpha off             | alpha off
AggregatedDiscoveryRemoveBetaType                    | deprecated on locked  | deprecated on locked
AllAlpha                                             | alpha off             | alpha off
AllBeta                                              | beta off              | beta off
AllowDNSOnlyNodeCSR                                  | deprecated off        | deprecated off
AllowInsecureKubeletCertificateSigningRequests       | deprecated off        | deprecated off
AllowOverwriteTerminationGracePeriodSeconds          | deprecated off locked | deprecated off locked
AllowParsingUserUIDFromCertAuth                      | beta on               | beta on
AllowServiceExternalIPs                              | GA on                 | GA on
AllowUnsafeMalformedObjectDeletion                   | alpha off             | beta on
AnonymousAuthConfigurableEndpoints                   | GA on locked          | -
AnyVolumeDataSource                                  | GA on locked          | -
AtomicFIFO                                           | beta on               | beta on
AtomicWriteVolumeUserFields                          | -                     | alpha off
AuthorizeNodeWithSelectors                           | GA on locked          | -
AuthorizePodWebsocketUpgradeCreatePermission         | beta on               | beta on
AuthorizeWithSelectors                               | GA on locked          | -
BtreeWatchCache                                      | GA on locked          | -
CBORServingAndStorage                                | alpha off             | alpha off
CPUManagerPolicyAlphaOptions                         | alpha off             | alpha off
CPUManagerPolicyBetaOptions                          | beta on               | beta on
CPUManagerPolicyOptions                              | GA on locked          | GA on locked
CRDObservedGenerationTracking                        | beta on               | beta on
CRDValidationRatcheting                              | GA on locked          | GA on locked
CRIListStreaming                                     | alpha off             | alpha off
CSIServiceAccountTokenSecrets                        | GA on locked          | GA on locked
CSIVolumeHealth                                      | alpha off             | alpha off
ChangeContainerStatusOnKubeletRestart                | deprecated off        | deprecated off
ClearingNominatedNodeNameAfterBinding                | beta on               | beta on
ClientsAllowCARotation                               | beta on               | beta on
ClientsAllowCBOR                                     | alpha off             | alpha off
ClientsAllowTLSCacheGC                               | beta on               | beta on
ClientsPreferCBOR                                    | alpha off             | alpha off
CloudControllerManagerWatchBasedRoutesReconciliation | alpha off             | alpha off
CloudControllerManagerWebhook                        | alpha off             | alpha off
ClusterTrustBundle                                   | beta off              | GA on
ClusterTrustBundleProjection                         | beta off              | GA on
ComponentFlagz                                       | beta on               | beta on
ComponentStatusz                                     | beta on               | beta on
CompositePodGroup                                    | -                     | alpha off
ConcurrentWatchObjectDecode                          | beta off              | beta on
ConsistentListFromCache                              | GA on locked          | -
ConsistentListFromCacheSkipTimeoutFallback           | -                     | alpha off
ConstrainedImpersonation                             | beta on               | beta on
ContainerCheckpoint                                  | beta on               | beta on
ContainerRestartRules                                | beta on               | beta on
ContainerStopSignals                                 | alpha off             | alpha off
ContextualLogging                                    | beta on               | beta on
CoordinatedLeaderElection                            | beta off              | beta off
CrossNamespaceVolumeDataSource                       | alpha off             | alpha off
CustomCPUCFSQuotaPeriod                              | GA on                 | GA on
CustomResourceFieldSelectors                         | GA on locked          | GA on locked
DRAAdminAccess                                       | GA on locked          | GA on locked
DRAConsumableCapacity                                | beta on               | beta on
DRADerivedAttributes                                 | -                     | alpha off
DRADeviceBindingConditions                           | beta on               | beta on
DRADeviceCompatibilityGroups                         | -                     | alpha off
DRADeviceTaintRules                                  | beta off              | GA on
DRADeviceTaints                                      | beta on               | GA on
DRAExtendedResource                                  | beta on               | GA on locked
DRAFractionalCapacityRange                           | -                     | beta off
DRAListTypeAttributes                                | alpha off             | alpha off
DRANodeAllocatableResources                          | alpha off             | alpha off
DRAOptionalNodeOperations                            | -                     | alpha off
DRAPartitionableDevices                              | beta on               | beta on
DRAPartitionableDevicesType                          | -                     | alpha off
DRAPrioritizedList                                   | GA on                 | GA on locked
DRAResourceClaimDeviceStatus                         | beta on               | GA on locked
DRAResourceClaimGranularStatusAuthorization          | beta on               | beta on
DRAResourcePoolStatus                                | alpha off             | alpha off
DRASchedulerFilterTimeout                            | beta on               | beta on
DRAWorkloadResourceClaims                            | alpha off             | beta off
DeclarativeValidation                                | GA on locked          | GA on locked
DeclarativeValidationBeta                            | beta on               | beta on
DeclarativeValidationTakeover                        | deprecated off        | deprecated off locked
DefaultPodSysctls                                    | -                     | alpha off
DeploymentReplicaSetTerminatingReplicas              | beta on               | beta on
DetectCacheInconsistency                             | beta on               | beta on
DisableAllocatorDualWrite                            | GA on locked          | GA on locked
DisableCPUQuotaWithExclusiveCPUs                     | deprecated on         | deprecated on locked
DisableNodeKubeProxyVersion                          | deprecated on locked  | deprecated on locked
DynamicResourceAllocation                            | GA on locked          | GA on locked
EmptyDirVolumeMode                                   | -                     | alpha off
EnvFiles                                             | beta on               | beta on
EtcdRangeStream                                      | -                     | beta on
EventedPLEG                                          | alpha off             | alpha off
EvictionRequestAPI                                   | -                     | alpha off
ExcludeAdmissionWebhookVirtualResources              | -                     | beta on
ExecProbeTimeout                                     | GA on locked          | GA on locked
ExtendWebSocketsToKubelet                            | beta on               | beta on
ExternalServiceAccountTokenSigner                    | GA on locked          | GA on locked
GRPCContainerProbeTLS                                | -                     | alpha off
GangScheduling                                       | alpha off             | -
GenericWorkload                                      | alpha off             | beta off
GitRepoVolumeDriver                                  | deprecated off locked | deprecated off locked
GracefulNodeShutdown                                 | beta on               | beta on
GracefulNodeShutdownBasedOnPodPriority               | beta on               | beta on
H2CContainerProbe                                    | -                     | alpha off
HPAConfigurableTolerance                             | beta on               | GA on locked
HPAGeneration                                        | -                     | beta on
HPAOptimizedSelectorStore                            | -                     | beta on
HPAScaleToZero                                       | alpha off             | beta on
HostnameOverride                                     | beta on               | GA on locked
HugepageAwareEviction                                | -                     | beta on
ImageMaximumGCAge                                    | GA on locked          | GA on locked
ImageVolume                                          | GA on locked          | GA on locked
ImageVolumeWithDigest                                | alpha off             | alpha off
InOrderInformers                                     | GA on locked          | GA on locked
InOrderInformersBatchProcess                         | beta on               | beta on
InPlacePodLevelResourcesVerticalScaling              | beta on               | beta on
InPlacePodVerticalScaling                            | GA on locked          | GA on locked
InPlacePodVerticalScalingExclusiveCPUs               | alpha off             | alpha off
InPlacePodVerticalScalingExclusiveMemory             | alpha off             | alpha off
InPlacePodVerticalScalingInitContainers              | beta on               | GA on locked
InPlacePodVerticalScalingMemoryBackedVolumes         | -                     | alpha off
InPlacePodVerticalScalingSchedulerPreemption         | -                     | alpha off
InformerResourceVersion                              | GA on                 | GA on
InterPodAffinityHostnameFastPath                     | -                     | alpha off
JobBackoffLimitPerIndex                              | GA on locked          | -
JobManagedBy                                         | GA on locked          | GA on locked
JobPodReplacementPolicy                              | GA on locked          | -
JobSuccessPolicy                                     | GA on locked          | -
KMSv1                                                | deprecated off        | deprecated off
KubeProxyIPVS                                        | -                     | deprecated on
KubeProxyNFTablesLocalhostNodePorts                  | -                     | alpha off
KubeletAllocatedPodsEndpoint                         | -                     | alpha off
KubeletCgroupDriverFromCRI                           | GA on locked          | GA on locked
KubeletCrashLoopBackOffMax                           | beta on               | beta on
KubeletEnsureSecretPulledImages                      | beta on               | beta on
KubeletFineGrainedAuthz                              | GA on locked          | GA on locked
KubeletInUserNamespace                               | alpha off             | beta on
KubeletPSI                                           | GA on locked          | GA on locked
KubeletPodResourcesDynamicResources                  | GA on locked          | GA on locked
KubeletPodResourcesGet                               | GA on locked          | GA on locked
KubeletPodResourcesListUseActivePods                 | deprecated on         | deprecated on
KubeletRegistrationGetOnExistsOnly                   | deprecated off        | deprecated off
KubeletSeparateDiskGC                                | beta on               | beta on
KubeletServiceAccountTokenForCredentialProviders     | beta on               | beta on
KubeletTracing                                       | GA on locked          | GA on locked
ListFromCacheSnapshot                                | beta on               | beta on
LocalStorageCapacityIsolationFSQuotaMonitoring       | beta off              | beta off
LogarithmicScaleDown                                 | GA on locked          | -
LoggingAlphaOptions                                  | alpha off             | alpha off
LoggingBetaOptions                                   | beta on               | beta on
ManifestBasedAdmissionControlConfig                  | alpha off             | beta on
MatchLabelKeysInPodAffinity                          | GA on locked          | GA on locked
MatchLabelKeysInPodTopologySpread                    | beta on               | beta on
MatchLabelKeysInPodTopologySpreadSelectorMerge       | beta on               | beta on
MaxUnavailableStatefulSet                            | beta off              | beta on
MemoryQoS                                            | alpha off             | beta on
MultiCIDRServiceAllocator                            | GA on locked          | GA on locked
MutableCSINodeAllocatableCount                       | GA on locked          | GA on locked
MutablePVNodeAffinity                                | alpha off             | alpha off
MutablePodResourcesForSuspendedJobs                  | beta on               | beta on
MutableSchedulingDirectivesForSuspendedJobs          | beta on               | beta on
MutatingAdmissionPolicy                              | GA on                 | GA on
NFTablesNetlink                                      | -                     | beta on
NFTablesProxyMode                                    | GA on locked          | GA on locked
NativeHistograms                                     | alpha off             | beta on
NodeControllerLeaseCircuitBreaker                    | -                     | beta on
NodeDeclaredFeatures                                 | beta on               | GA on locked
NodeInclusionPolicyInPodTopologySpread               | GA on locked          | GA on locked
NodeLifecycleConditions                              | -                     | alpha off
NodeLogQuery                                         | GA on locked          | GA on locked
NodeSwap                                             | GA on locked          | GA on locked
NominatedNodeNameForExpectation                      | beta on               | beta on
OpenAPIEnums                                         | beta on               | beta on
OpportunisticBatching                                | beta on               | beta on
OrderedNamespaceDeletion                             | GA on locked          | -
PLEGOnDemandRelist                                   | beta on               | GA on locked
PersistentVolumeClaimUnusedSinceTime                 | alpha off             | beta on
PodAndContainerStatsFromCRI                          | alpha off             | beta off
PodCertificateRequest                                | beta off              | GA on
PodDeletionCost                                      | beta on               | beta on
PodGroupPreemptionPolicy                             | -                     | alpha off
PodLevelResourceManagers                             | alpha off             | beta off
PodLevelResources                                    | beta on               | beta on
PodLevelResourcesFixDefaulting                       | -                     | beta on
PodLevelResourcesFixKubeletQOSClass                  | -                     | beta on
PodLifecycleSleepAction                              | GA on locked          | -
PodLifecycleSleepActionAllowZero                     | GA on locked          | -
PodLogsQuerySplitStreams                             | alpha off             | alpha off
PodObservedGenerationTracking                        | GA on locked          | GA on locked
PodReadyToStartContainersCondition                   | beta on               | GA on locked
PodSchedulingReadiness                               | GA on locked          | GA on locked
PodTopologyLabelsAdmission                           | beta on               | beta on
PodsAPI                                              | alpha off             | beta on
PortForwardWebsockets                                | beta on               | beta on
PreferSameTrafficDistribution                        | GA on locked          | GA on locked
PreventStaticPodAPIReferences                        | beta on               | -
ProcMountType                                        | GA on locked          | GA on locked
QOSReserved                                          | alpha off             | alpha off
RecoverVolumeExpansionFailure                        | GA on locked          | GA on locked
RecursiveReadOnlyMounts                              | GA on locked          | GA on locked
ReduceDefaultCrashLoopBackOffDecay                   | alpha off             | alpha off
RelaxedDNSSearchValidation                           | GA on locked          | -
RelaxedEnvironmentVariableValidation                 | GA on locked          | GA on locked
RelaxedServiceNameValidation                         | beta on               | GA on locked
ReloadKubeletClientCAFile                            | beta on               | beta on
ReloadKubeletServerCertificateFile                   | beta on               | beta on
RemoteRequestHeaderUID                               | beta on               | beta on
ResilientWatchCacheInitialization                    | GA on locked          | -
ResourceHealthStatus                                 | beta on               | beta on
ResourceHealthStatusMessage                          | beta on               | beta on
RestartAllContainersOnContainerExits                 | beta on               | beta on
RetryGenerateName                                    | GA on locked          | -
RotateKubeletServerCertificate                       | beta on               | beta on
RuntimeClassInImageCriApi                            | alpha off             | alpha off
SELinuxChangePolicy                                  | GA on locked          | GA on locked
SELinuxMount                                         | beta off              | GA on
SELinuxMountReadWriteOncePod                         | GA on locked          | GA on locked
SchedulerAsyncAPICalls                               | beta off              | beta off
SchedulerAsyncPreemption                             | beta on               | beta on
SchedulerPopFromBackoffQ                             | beta on               | beta on
SchedulerPreQueueingHints                            | -                     | alpha off
SchedulerQueueingHints                               | GA on locked          | -
SeparateCacheWatchRPC                                | deprecated off locked | deprecated off locked
SeparateTaintEvictionController                      | GA on locked          | GA on locked
ServiceAccountNodeAudienceRestriction                | beta on               | beta on
ServiceAccountTokenJTI                               | GA on locked          | GA on locked
ServiceAccountTokenNodeBinding                       | GA on locked          | GA on locked
ServiceAccountTokenNodeBindingValidation             | GA on locked          | GA on locked
ServiceAccountTokenPodNodeInfo                       | GA on locked          | GA on locked
ServiceCIDRStatusFieldWiping                         | deprecated on         | deprecated on
ShardedListAndWatch                                  | alpha off             | alpha off
SidecarContainers                                    | GA on locked          | -
SizeBasedListCostEstimate                            | beta on               | beta on
StaleControllerConsistencyDaemonSet                  | beta on               | beta on
StaleControllerConsistencyHPA                        | -                     | beta on
StaleControllerConsistencyJob                        | beta on               | beta on
StaleControllerConsistencyReplicaSet                 | beta on               | beta on
StaleControllerConsistencyStatefulSet                | beta on               | beta on
StatefulSetRecreateStrategy                          | -                     | alpha off
StatefulSetSemanticRevisionComparison                | beta on               | beta on
StorageCapacityScoring                               | alpha off             | beta on
StorageNamespaceIndex                                | deprecated on         | deprecated on
StorageVersionAPI                                    | alpha off             | alpha off
StorageVersionHash                                   | beta on               | beta on
StorageVersionMigrator                               | beta off              | GA on
StreamingCollectionEncodingToJSON                    | GA on locked          | -
StreamingCollectionEncodingToProtobuf                | GA on locked          | -
StrictIPCIDRValidation                               | beta on               | beta on
StructuredAuthenticationConfiguration                | GA on locked          | -
StructuredAuthenticationConfigurationEgressSelector  | beta on               | beta on
StructuredAuthenticationConfigurationJWKSMetrics     | beta on               | beta on
SupplementalGroupsPolicy                             | GA on locked          | GA on locked
SystemdWatchdog                                      | GA on locked          | GA on locked
TaintTolerationComparisonOperators                   | alpha off             | alpha off
TokenRequestServiceAccountUIDValidation              | beta on               | beta on
TopologyAwareWorkloadScheduling                      | alpha off             | alpha off
TopologyManagerPolicyAlphaOptions                    | alpha off             | alpha off
TopologyManagerPolicyBetaOptions                     | beta on               | beta on
TopologyManagerPolicyOptions                         | GA on locked          | GA on locked
TranslateStreamCloseWebsocketRequests                | beta on               | beta on
UnauthenticatedHTTP2DOSMitigation                    | beta on               | beta on
UnknownVersionInteroperabilityProxy                  | beta on               | beta on
UnlockWhileProcessingFIFO                            | beta on               | beta on
UserNamespacesHostNetworkSupport                     | alpha off             | alpha off
UserNamespacesSupport                                | GA on locked          | GA on locked
VolumeAttributesClass                                | GA on locked          | GA on locked
VolumeBindMountOptions                               | -                     | alpha off
VolumeLimitScaling                                   | alpha off             | beta on
WatchCacheInitializationPostStartHook                | beta on               | GA on locked
WatchList                                            | beta on               | beta on
WatchListClient                                      | beta on               | beta on
WatchListCompression                                 | -                     | beta on
WebhookRoundTripLoadBalancing                        | -                     | beta on
WinDSR                                               | GA on locked          | GA on locked
WinOverlay                                           | GA on locked          | GA on locked
WindowsCPUAndMemoryAffinity                          | alpha off             | alpha off
WindowsGracefulNodeShutdown                          | beta on               | beta on
WindowsHostNetwork                                   | deprecated off        | deprecated off
WorkloadAwarePreemption                              | alpha off             | -
WorkloadWithJob                                      | alpha off             | alpha off
"""

OWN: Final = """
gate                       | 1.36    | 1.37    | where it is on
AllKeepsFullDevices        | own off | own on  | mode All lists devices that others have filled
AnyAntiAffinityWakes       | own off | own on  | one anti-affinity term that matched wakes a pod, not all of them
BindingRetries             | own off | own on  | a binding is tried again if the API server is away or breaks
CelErrorsNameDevices       | own off | own on  | errors of device selectors name the device
ClaimConfigOnce            | own off | own on  | a claim's configuration is handed on once, not per request
ClaimDeletionWakes         | own off | own on  | DynamicResources reacts to claims that are deleted
CompatibilityGroupsHide    | own off | own on  | slices with compatibility groups are hidden
CountersByNodeRule         | own off | own on  | slices with counters concern the nodes their rule names
DeviceLimitByRequest       | own off | own on  | the request that exceeds 32 devices is named
DistinctDevices            | own off | own on  | distinctAttribute holds between all devices
FirstBrokenBudgetCounts    | own off | own on  | a victim is charged to budgets up to the first it breaks
ImageVolumesCount          | own off | own on  | image volumes raise ImageLocality's upper threshold
InFlightUntilBound         | own off | own on  | claims are in flight until PreBind has ended
ListsInSelectors           | own off | own on  | device selectors see attributes that are lists
NamespaceSelectorsUnrolled | own off | own on  | a pod's terms match the namespaces they select, no others
NodeNamePreFilter          | own off | own on  | NodeName comes first and has a PreFilter
NodeTaintsWakeAll          | own on  | own off | taints wake what any plugin refused that waits for nodes
PodEventKinds              | own off | own on  | events are of assigned pods, unscheduled ones, the pod itself
PodGroupPostFilterPoint    | own off | own on  | configurations know the point podGroupPostFilter
PodGroupsBeta              | own off | own on  | groups are of scheduling.k8s.io/v1beta1, not v1alpha2
PreemptionMessage          | own off | own on  | DefaultPreemption says how many victims it found where
QueuedPodGroups            | own off | own on  | a group waits in the queue as one entity
ResizeTotals               | own off | own on  | a pod being resized needs the largest of three totals
SharesChargedOnce          | own off | own on  | shares without amounts count as use of counters
SilentClaimPostFilter      | own off | own on  | DynamicResources' PostFilter is silent if it did nothing
StrictCapacity             | own off | own on  | capacities that cannot be worked out are errors
VictimStartTimeOnce        | own off | own on  | victims not yet started keep the order of the node's pods
"""

#: What has to be on where a gate is on, as far as the version knows it.
NEEDS: Final = """
AuthorizeNodeWithSelectors: AuthorizeWithSelectors
ClusterTrustBundleProjection: ClusterTrustBundle
CompositePodGroup: GenericWorkload TopologyAwareWorkloadScheduling
DRAAdminAccess: DynamicResourceAllocation
DRAConsumableCapacity: DynamicResourceAllocation
DRADerivedAttributes: DynamicResourceAllocation
DRADeviceBindingConditions: DRAResourceClaimDeviceStatus DynamicResourceAllocation
DRADeviceCompatibilityGroups: DRAPartitionableDevices DynamicResourceAllocation
DRADeviceTaintRules: DRADeviceTaints
DRADeviceTaints: DynamicResourceAllocation
DRAExtendedResource: DynamicResourceAllocation
DRAFractionalCapacityRange: DRAConsumableCapacity
DRAListTypeAttributes: DynamicResourceAllocation
DRANodeAllocatableResources: DynamicResourceAllocation
DRAOptionalNodeOperations: DynamicResourceAllocation NodeDeclaredFeatures
DRAPartitionableDevices: DynamicResourceAllocation
DRAPartitionableDevicesType: DRAPartitionableDevices DRAResourcePoolStatus DynamicResourceAllocation
DRAPrioritizedList: DynamicResourceAllocation
DRAResourceClaimGranularStatusAuthorization: DRAResourceClaimDeviceStatus DynamicResourceAllocation
DRAResourcePoolStatus: DynamicResourceAllocation
DRASchedulerFilterTimeout: DynamicResourceAllocation
DRAWorkloadResourceClaims: DynamicResourceAllocation GenericWorkload
DeclarativeValidationBeta: DeclarativeValidation
DeclarativeValidationTakeover: DeclarativeValidation
DisableAllocatorDualWrite: MultiCIDRServiceAllocator
EventedPLEG: PLEGOnDemandRelist
ExtendWebSocketsToKubelet: NodeDeclaredFeatures
GangScheduling: GenericWorkload
GracefulNodeShutdownBasedOnPodPriority: GracefulNodeShutdown
H2CContainerProbe: NodeDeclaredFeatures
ImageVolumeWithDigest: ImageVolume
InPlacePodLevelResourcesVerticalScaling: InPlacePodVerticalScaling NodeDeclaredFeatures PodLevelResources
InPlacePodVerticalScalingExclusiveCPUs: InPlacePodVerticalScaling
InPlacePodVerticalScalingExclusiveMemory: InPlacePodVerticalScaling
InPlacePodVerticalScalingInitContainers: InPlacePodVerticalScaling NodeDeclaredFeatures
InPlacePodVerticalScalingMemoryBackedVolumes: InPlacePodVerticalScaling NodeDeclaredFeatures
InPlacePodVerticalScalingSchedulerPreemption: InPlacePodVerticalScaling
KubeletAllocatedPodsEndpoint: InPlacePodVerticalScaling
MatchLabelKeysInPodTopologySpreadSelectorMerge: MatchLabelKeysInPodTopologySpread
NodeControllerLeaseCircuitBreaker: AtomicFIFO
PodCertificateRequest: AuthorizeNodeWithSelectors
PodGroupPreemptionPolicy: GenericWorkload
PodLevelResourceManagers: PodLevelResources
PodLevelResourcesFixDefaulting: PodLevelResources
PodLevelResourcesFixKubeletQOSClass: PodLevelResources
PodLifecycleSleepActionAllowZero: PodLifecycleSleepAction
ProcMountType: UserNamespacesSupport
ResourceHealthStatus: DynamicResourceAllocation
ResourceHealthStatusMessage: ResourceHealthStatus
RestartAllContainersOnContainerExits: ContainerRestartRules NodeDeclaredFeatures
ServiceAccountTokenNodeBinding: ServiceAccountTokenNodeBindingValidation
StaleControllerConsistencyDaemonSet: AtomicFIFO
StaleControllerConsistencyHPA: AtomicFIFO
StaleControllerConsistencyJob: AtomicFIFO
StaleControllerConsistencyReplicaSet: AtomicFIFO
StaleControllerConsistencyStatefulSet: AtomicFIFO
StorageVersionAPI: APIServerIdentity
StructuredAuthenticationConfigurationEgressSelector: StructuredAuthenticationConfiguration
StructuredAuthenticationConfigurationJWKSMetrics: StructuredAuthenticationConfiguration
TopologyAwareWorkloadScheduling: GenericWorkload
UnknownVersionInteroperabilityProxy: APIServerIdentity
UserNamespacesHostNetworkSupport: NodeDeclaredFeatures UserNamespacesSupport
WindowsGracefulNodeShutdown: GracefulNodeShutdown
WorkloadAwarePreemption: GangScheduling
WorkloadWithJob: GenericWorkload
"""
