"""A configuration as plain data: what runs at each point of each profile and with which arguments, and the rest."""

from typing import Any

import msgspec

from moorage.config.load import Config, Profile
from moorage.config.points import POD_POINTS
from moorage.values.duration import Duration


def as_data(config: Config) -> dict[str, Any]:
    """Profiles, top-level values, version and feature gates, ready for JSON or YAML."""
    connection = config.client_connection
    return {
        "profiles": [_profile(profile) for profile in config.profiles],
        "top": {
            "burst": connection.burst,
            "extenders": len(config.extenders),
            "leaderElect": config.leader_election.leader_elect,
            "parallelism": config.parallelism,
            "percentageOfNodesToScore": config.percentage_of_nodes_to_score,
            "podInitialBackoffSeconds": config.pod_initial_backoff_seconds,
            "podMaxBackoffSeconds": config.pod_max_backoff_seconds,
            "qps": int(connection.qps) if connection.qps.is_integer() else connection.qps,
        },
        "args": {profile.scheduler_name: _args(profile) for profile in config.profiles},
        "emulatedVersion": config.features.version,
        "featureGates": {spec.name: on for spec, on in config.features.gates()},
    }


def _profile(profile: Profile) -> dict[str, Any]:
    data: dict[str, Any] = {"schedulerName": profile.scheduler_name}
    if profile.percentage_of_nodes_to_score is not None:
        data["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    # Group placement has its own points, which no pod passes through: they are left out here.
    data["plugins"] = {point: list(profile.plugins.at(point)) for point in POD_POINTS if profile.plugins.at(point)}
    data["weights"] = dict(profile.plugins.score_weights)
    return data


def _args(profile: Profile) -> dict[str, Any]:
    running = {name for point in POD_POINTS for name in profile.plugins.at(point)}
    return {name: plain(args) for name, args in profile.args.items() if name in running}


def plain(value: Any) -> Any:
    """Structs as mappings with the names files use, nothing left out but what has no value."""
    match value:
        case msgspec.Struct():
            fields = ((field.encode_name, getattr(value, field.name)) for field in msgspec.structs.fields(value))
            return {name: plain(item) for name, item in fields if item is not None}
        case Duration():
            return str(value)
        case tuple() | list():
            return [plain(item) for item in value]
        case dict():
            return {name: plain(item) for name, item in value.items()}
        case bytes():
            return msgspec.to_builtins(value)
    return value
