"""Volumes of pods and persistent volumes: the sources whose identity matters to scheduling."""

from msgspec import field

from moorage.objects.meta import KubeObject, LabelSelector, Quantities, Struct


class PersistentVolumeClaimSource(Struct, frozen=True):
    """A pod's use of a claim in its namespace."""

    claim_name: str = ""
    read_only: bool = False


class GcePersistentDisk(Struct, frozen=True):
    """In-tree Google disk."""

    pd_name: str = ""
    read_only: bool = False


class AwsElasticBlockStore(Struct, frozen=True):
    """In-tree Amazon disk."""

    volume_id: str = field(default="", name="volumeID")
    read_only: bool = False


class AzureDisk(Struct, frozen=True):
    """In-tree Azure disk."""

    disk_name: str = ""
    disk_uri: str = field(default="", name="diskURI")
    kind: str | None = None


class AzureFile(Struct, frozen=True):
    """In-tree Azure file share."""

    share_name: str = ""
    secret_name: str = ""
    secret_namespace: str = ""


class CinderVolume(Struct, frozen=True):
    """In-tree OpenStack disk."""

    volume_id: str = field(default="", name="volumeID")


class PortworxVolume(Struct, frozen=True):
    """In-tree Portworx volume."""

    volume_id: str = field(default="", name="volumeID")


class VsphereVolume(Struct, frozen=True):
    """In-tree vSphere disk."""

    volume_path: str = ""


class RbdVolume(Struct, frozen=True):
    """In-tree Ceph block device."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = "rbd"
    read_only: bool = False


class IscsiVolume(Struct, frozen=True):
    """In-tree iSCSI target."""

    iqn: str = ""
    target_portal: str = ""
    lun: int = 0
    read_only: bool = False


class CsiVolume(Struct, frozen=True):
    """A CSI volume: inline in a pod (driver alone) or in a PV (driver and handle)."""

    driver: str = ""
    volume_handle: str = ""


class ImageVolume(Struct, frozen=True):
    """An OCI image mounted as a volume."""

    reference: str = ""


class VolumeSources(Struct, frozen=True):
    """The sources that a pod's volume and a persistent volume share."""

    gce_persistent_disk: GcePersistentDisk | None = None
    aws_elastic_block_store: AwsElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: CinderVolume | None = None
    portworx_volume: PortworxVolume | None = None
    vsphere_volume: VsphereVolume | None = None
    rbd: RbdVolume | None = None
    iscsi: IscsiVolume | None = None
    csi: CsiVolume | None = None


class ClaimResources(Struct, frozen=True):
    """spec.resources of a claim: requests.storage is its size."""

    requests: Quantities = {}


class PersistentVolumeClaimSpec(Struct, frozen=True):
    """What a claim asks for."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: ClaimResources = ClaimResources()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class ClaimTemplate(KubeObject, frozen=True):
    """The claim that an ephemeral volume brings along."""

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolume(Struct, frozen=True):
    """A volume whose claim lives and dies with the pod."""

    volume_claim_template: ClaimTemplate | None = None


class Volume(VolumeSources, frozen=True):
    """One entry of a pod's spec.volumes."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimSource | None = None
    ephemeral: EphemeralVolume | None = None
    image: ImageVolume | None = None
