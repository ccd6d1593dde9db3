"""Reviews: questions about users and permissions. Everyone who is known may do everything, and this says so."""

from typing import Any

from moorage.apiserver.auth import Authenticator, User
from moorage.apiserver.registry import Operation

Json = dict[str, Any]


def access_review(_: Operation, obj: Json) -> Json:
    """SubjectAccessReview and its kin."""
    obj["status"] = {"allowed": True}
    obj.setdefault("metadata", {})
    return obj


def rules_review(_: Operation, obj: Json) -> Json:
    """SelfSubjectRulesReview."""
    everything: Json = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    paths: Json = {"verbs": ["*"], "nonResourceURLs": ["*"]}
    obj["status"] = {"resourceRules": [everything], "nonResourceRules": [paths], "incomplete": False}
    return obj


def self_review(operation: Operation, obj: Json) -> Json:
    """SelfSubjectReview: who am I."""
    obj["status"] = {"userInfo": _user(operation.user)}
    return obj


def token_review(authenticator: Authenticator, obj: Json) -> Json:
    """TokenReview: whose token is this."""
    user = authenticator.by_token((obj.get("spec") or {}).get("token", ""))
    obj["status"] = {"authenticated": True, "user": _user(user)} if user else {"authenticated": False}
    return obj


def _user(user: User) -> Json:
    info: Json = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        info["uid"] = user.uid
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return info
