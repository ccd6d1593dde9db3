"""Log lines: how they look, and how many of them there are.

Verbosity counts as klog's: 0 says what went wrong and that the process started, 2 what becomes of pods, 4 and more
what led to it: every score and every refusal.
"""

import json
import logging
import sys
import time
from collections.abc import Callable
from typing import IO, Final

from moorage.attempt.world import POD_LOGGER

_LEVELS: Final = ((4, logging.DEBUG), (0, logging.INFO))

#: The verbosity of a process that is not there to log: warnings and errors alone.
QUIET: Final = -1


def configure(verbosity: int = 0, *, as_json: bool = False, stream: IO[str] | None = None) -> None:
    """Send the process' log lines to `stream` (standard error)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_JsonFormatter() if as_json else _TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(next((level for least, level in _LEVELS if verbosity >= least), logging.WARNING))
    pods = logging.DEBUG if verbosity >= 4 else logging.INFO if verbosity >= 2 else logging.WARNING
    logging.getLogger(POD_LOGGER).setLevel(pods)
    logging.getLogger("asyncio").setLevel(logging.WARNING)


def keep_last_error() -> Callable[[], str]:
    """From now on keep the last error that is logged; what is returned tells it, "" where there was none."""
    keeper = _LastError(logging.ERROR)
    logging.getLogger().addHandler(keeper)
    return lambda: keeper.text


class _LastError(logging.Handler):
    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text = record.getMessage()


class _TextFormatter(logging.Formatter):
    """klog's header: level, month and day, time, process, source; then the message."""

    def format(self, record: logging.LogRecord) -> str:
        stamp = time.strftime("%m%d %H:%M:%S", time.localtime(record.created))
        fraction = int(record.created % 1 * 1_000_000)
        head = f"{record.levelname[0]}{stamp}.{fraction:06d} {record.process or 0:7d} {record.module}:{record.lineno}]"
        text = f"{head} {record.getMessage()}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class _JsonFormatter(logging.Formatter):
    """One JSON object a line, with Kubernetes' field names."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": round(record.created * 1000, 3),
            "caller": f"{record.module}:{record.lineno}",
            "severity": record.levelname.lower(),
            "msg": record.getMessage(),
        }
        if record.exc_info:
            line["err"] = self.formatException(record.exc_info)
        return json.dumps(line)
