import json

import pytest

from moorage.errors import ApiError
from moorage.kube import errors


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (405, "MethodNotAllowed", errors.MethodNotAllowed),
        (409, "Conflict", errors.Conflict),
        (409, "AlreadyExists", errors.AlreadyExists),
        (410, "Expired", errors.Gone),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (504, "Timeout", errors.ServerError),
        (418, "Teapot", errors.StatusError),
    ],
)
def test_a_status_becomes_the_error_of_its_code_and_reason(
    code: int, reason: str, kind: type[errors.StatusError]
) -> None:
    body = json.dumps({"kind": "Status", "code": code, "reason": reason, "message": "no"}).encode()
    error = errors.error_of_answer(code, body)
    assert type(error) is kind
    assert isinstance(error, ApiError)
    assert (error.code, error.reason, str(error)) == (code, reason, "no")


def test_details_say_what_the_failure_is_about() -> None:
    body = json.dumps(
        {
            "code": 422,
            "reason": "Invalid",
            "message": "Pod is invalid",
            "details": {"name": "web", "kind": "Pod", "causes": [{"field": "spec.nodeName", "message": "bad"}]},
        }
    ).encode()
    error = errors.error_of_answer(422, body)
    assert error.details.name == "web"
    assert error.details.causes[0].field == "spec.nodeName"


def test_retry_after_comes_from_the_header_or_the_details() -> None:
    assert errors.error_of_answer(429, b"{}", "7").retry_after == 7.0
    assert errors.error_of_answer(429, b'{"details": {"retryAfterSeconds": 3}}').retry_after == 3.0
    assert errors.error_of_answer(429, b"{}", "Wed, 21 Oct 2026 07:28:00 GMT").retry_after is None


def test_a_body_that_is_no_status_is_quoted() -> None:
    error = errors.error_of_answer(502, b"<html>\n  bad   gateway</html>")
    assert isinstance(error, errors.ServerError)
    assert str(error) == "the server answered 502: <html> bad gateway</html>"


def test_an_empty_body_still_makes_a_sentence() -> None:
    assert str(errors.error_of_answer(503, b"")) == "the server answered 503"
