"""What is served: the documents that tell clients about groups, versions and resources."""

import hashlib
from collections.abc import Mapping
from typing import Any

from moorage.apiserver import media
from moorage.apiserver.kinds import READ_WRITE_VERBS, SUBRESOURCE_KINDS, SUBRESOURCE_VERBS, Kind
from moorage.apiserver.openapi import OpenApi
from moorage.apiserver.registry import ServedKinds

Json = dict[str, Any]
Found = tuple[bytes, str, dict[str, str]]

_AGGREGATED = ("v2", "v2beta1")


class Discovery:
    """Answers the paths that are not resources. Documents are made once for each set of resources."""

    def __init__(self, registry: ServedKinds, release: str) -> None:
        self.registry = registry
        self.openapi = OpenApi(registry, release)
        self._version = _version(release)
        self._generation = -1
        self._documents: dict[tuple[str, str], Found] = {}

    def find(self, path: str, query: Mapping[str, str], accept: str) -> Found | None:
        """The document at a path, or None."""
        if self._generation != self.registry.generation:
            self._generation = self.registry.generation
            self._documents = {}
        version = _aggregated_version(accept) if path in ("/api", "/apis") else ""
        found = self._documents.get((path, version))
        if found is None:
            found = self._make(path, version)
            if found is None:
                return self.openapi.find(path, query, accept)
            self._documents[path, version] = found
        return found

    def _make(self, path: str, version: str) -> Found | None:
        document = self._aggregated(path, version) if version else self._legacy(path)
        if document is None:
            return None
        body = media.encode(document)
        if not version:
            return body, media.JSON, {}
        tag = hashlib.sha256(body).hexdigest().upper()
        content_type = f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
        return body, content_type, {"ETag": f'"{tag}"', "Vary": "Accept"}

    def _legacy(self, path: str) -> Json | None:
        if path == "":
            return {"paths": sorted(self._paths())}
        if path == "/version":
            return self._version
        if path == "/api":
            addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}]
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}
        if path == "/apis":
            groups = [_group(name, versions) for name, versions in self._groups().items() if name]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        parts = path.split("/")[1:]
        if parts[0] == "api" and len(parts) == 2:
            return self._resource_list("", parts[1])
        if parts[0] == "apis" and len(parts) == 2 and parts[1] in self._groups():
            return {**_group(parts[1], self._groups()[parts[1]]), "kind": "APIGroup", "apiVersion": "v1"}
        if parts[0] == "apis" and len(parts) == 3:
            return self._resource_list(parts[1], parts[2])
        return None

    def _paths(self) -> set[str]:
        paths = {"/api", "/api/v1", "/apis", "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3"}
        paths |= {"/readyz", "/version"}
        for group, versions in self._groups().items():
            if group:
                paths.add(f"/apis/{group}")
                paths |= {f"/apis/{group}/{version}" for version in versions}
        return paths

    def _groups(self) -> dict[str, dict[str, list[Kind]]]:
        groups: dict[str, dict[str, list[Kind]]] = {}
        for resource in self.registry.resources():
            kind = resource.kind
            groups.setdefault(kind.group, {}).setdefault(kind.version, []).append(kind)
        return {group: dict(sorted(v.items(), key=lambda e: version_rank(e[0]))) for group, v in groups.items()}

    def _resource_list(self, group: str, version: str) -> Json | None:
        kinds = self._groups().get(group, {}).get(version)
        if kinds is None:
            return None
        resources = []
        for kind in sorted(kinds, key=lambda kind: kind.plural):
            resources.append(_resource(kind))
            resources += [_subresource(kind, name) for name in sorted(kind.subresources)]
        name = f"{group}/{version}" if group else version
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": resources}

    def _aggregated(self, path: str, version: str) -> Json:
        items = []
        for group, versions in self._groups().items():
            if (path == "/api") == (group == ""):
                items.append(_group_discovery(group, versions))
        api_version = f"apidiscovery.k8s.io/{version}"
        return {"kind": "APIGroupDiscoveryList", "apiVersion": api_version, "metadata": {}, "items": items}


def version_rank(version: str) -> tuple[int, int, int, str]:
    """Stable before beta before alpha, higher before lower."""
    rest = version.removeprefix("v")
    for rank, word in ((1, "beta"), (2, "alpha")):
        major, found, minor = rest.partition(word)
        if found and major.isdigit():
            return rank, -int(major), -int(minor) if minor.isdigit() else 0, ""
    return (0, -int(rest), 0, "") if rest.isdigit() else (3, 0, 0, version)


def _aggregated_version(accept: str) -> str:
    for part in accept.split(","):
        if "as=APIGroupDiscoveryList" in part and "g=apidiscovery.k8s.io" in part:
            for version in _AGGREGATED:
                if f"v={version}" in [word.strip() for word in part.split(";")]:
                    return version
        elif part.strip().partition(";")[0] == media.JSON and "as=" not in part:
            return ""
    return ""


def _group(name: str, versions: Mapping[str, Any]) -> Json:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _resource(kind: Kind) -> Json:
    resource: Json = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.is_namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        resource["shortNames"] = list(kind.short_names)
    if kind.categories:
        resource["categories"] = list(kind.categories)
    if "list" in kind.verbs:
        digest = hashlib.sha256(f"{kind.group}/{kind.version}/{kind.kind}".encode()).hexdigest()
        resource["storageVersionHash"] = digest[:11] + "="
    return resource


def _subresource(kind: Kind, name: str) -> Json:
    group, version, other = SUBRESOURCE_KINDS.get(name, ("", "", ""))
    resource: Json = {
        "name": f"{kind.plural}/{name}",
        "singularName": "",
        "namespaced": kind.is_namespaced,
        "kind": other or kind.kind,
        "verbs": list(SUBRESOURCE_VERBS.get(name, READ_WRITE_VERBS)),
    }
    if other and (group, version) != (kind.group, kind.version):
        resource["group"], resource["version"] = group, version
    return resource


def _group_discovery(group: str, versions: dict[str, list[Kind]]) -> Json:
    listed = []
    for version, kinds in versions.items():
        resources = [_resource_discovery(kind) for kind in sorted(kinds, key=lambda kind: kind.plural)]
        listed.append({"version": version, "resources": resources, "freshness": "Current"})
    metadata: Json = {"creationTimestamp": None}
    if group:
        metadata["name"] = group
    return {"metadata": metadata, "versions": listed}


def _resource_discovery(kind: Kind) -> Json:
    resource: Json = {
        "resource": kind.plural,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "scope": "Namespaced" if kind.is_namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        resource["shortNames"] = list(kind.short_names)
    if kind.categories:
        resource["categories"] = list(kind.categories)
    if kind.subresources:
        resource["subresources"] = [_subresource_discovery(kind, name) for name in sorted(kind.subresources)]
    return resource


def _subresource_discovery(kind: Kind, name: str) -> Json:
    group, version, other = SUBRESOURCE_KINDS.get(name, (kind.group, kind.version, kind.kind))
    return {
        "subresource": name,
        "responseKind": {"group": group, "version": version, "kind": other},
        "verbs": list(SUBRESOURCE_VERBS.get(name, READ_WRITE_VERBS)),
    }


def _version(release: str) -> Json:
    """What /version says of a release of Kubernetes ("v1.37.1")."""
    major, minor, _ = release.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": release,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "",
        "goVersion": "",
        "compiler": "moorage",
        "platform": "python",
    }
