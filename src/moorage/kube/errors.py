"""What an API call can end with, as types.

ApiError (moorage.errors)
├── CredentialsError        no credentials could be had: nothing was sent
├── Unreachable             no connection: nothing was sent, repeating is safe
├── AnswerLost              sent, perhaps carried out, but no answer came back
│   └── DeadlineExceeded    ... within the time given
│       └── Silence         ... and not a byte of it for too long: the connection may be dead
├── BadAnswer               an answer came that is not what the API promises
│   └── AnswerTooLong       ... or longer than the caller will take
└── StatusError             the server said no
    ├── BadRequest 400, Unauthorized 401, Forbidden 403, NotFound 404, MethodNotAllowed 405
    ├── Conflict 409        ── AlreadyExists
    ├── Gone 410, Invalid 422, TooManyRequests 429
    └── ServerError 5xx
"""

import msgspec

from moorage.errors import ApiError


class CredentialsError(ApiError):
    """No usable credentials: a token file vanished, an exec plugin failed. Nothing was sent."""


class Unreachable(ApiError):
    """No connection could be made: nothing was sent, so repeating is safe."""


class AnswerLost(ApiError):
    """The request went out but its answer did not come back: it may have been carried out."""


class DeadlineExceeded(AnswerLost):
    """The answer did not come in time: the request may have been carried out, or still be."""


class Silence(DeadlineExceeded):
    """Not a byte has come for so long that the connection may carry nothing any more. Go on with a new one."""


class BadAnswer(ApiError):
    """The server answered with something that is not what the API promises (an HTML page, a cut JSON)."""


class AnswerTooLong(BadAnswer):
    """The answer is longer than the caller will take; `start` is how it begins."""

    def __init__(self, message: str, *, start: bytes) -> None:
        super().__init__(message)
        self.start = start


class StatusCause(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(msgspec.Struct, frozen=True, rename="camel"):
    """What a failure is about, as the API server tells it."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: int = 0


class StatusError(ApiError):
    """The server answered, and the answer is no. `retry_after` (seconds) is None when it did not name one."""

    def __init__(
        self,
        message: str,
        *,
        code: int,
        reason: str = "",
        details: StatusDetails | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, code=code, reason=reason)
        self.details = details or StatusDetails()
        self.retry_after = retry_after


class BadRequest(StatusError): ...


class Unauthorized(StatusError): ...


class Forbidden(StatusError): ...


class NotFound(StatusError): ...


class MethodNotAllowed(StatusError): ...


class Conflict(StatusError): ...


class AlreadyExists(Conflict): ...


class Gone(StatusError):
    """The resource version or continue token asked for is too old: list again."""


class Invalid(StatusError): ...


class TooManyRequests(StatusError): ...


class ServerError(StatusError): ...


_BY_CODE: dict[int, type[StatusError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


class StatusBody(msgspec.Struct, frozen=True, rename="camel"):
    """The API's `Status` object, which stands for a failure in answers and in watch streams."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None


def error_of_status(status: StatusBody, *, code: int = 0, retry_after: float | None = None) -> StatusError:
    """The typed error for a Status; `code` and `retry_after` are HTTP's own and win over the object's."""
    code = code or status.code or 500
    if retry_after is None and status.details is not None and status.details.retry_after_seconds > 0:
        retry_after = float(status.details.retry_after_seconds)
    kind = AlreadyExists if status.reason == "AlreadyExists" else _BY_CODE.get(code)
    if kind is None:
        kind = ServerError if code >= 500 else StatusError
    message = status.message or f"the server answered {code} {status.reason}".rstrip()
    return kind(message, code=code, reason=status.reason, details=status.details, retry_after=retry_after)


def error_of_answer(code: int, body: bytes, retry_after: str = "") -> StatusError:
    """The typed error for an HTTP answer of 300 and above. Bodies that are no Status are quoted, shortened."""
    try:
        status = msgspec.json.decode(body, type=StatusBody)
    except msgspec.DecodeError:
        text = " ".join(body[:300].decode(errors="replace").split())
        status = StatusBody(message=f"the server answered {code}: {text}" if text else "")
    # Retry-After may also be a date, which the API server never sends; such a value is no hint.
    return error_of_status(status, code=code, retry_after=float(retry_after) if retry_after.isdecimal() else None)
