"""Log lines: klog's form or JSON, and no more of them than asked for."""

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

from moorage.attempt.world import POD_LOGGER
from moorage.observe.logs import configure


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, pods = list(root.handlers), root.level, logging.getLogger(POD_LOGGER).level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger(POD_LOGGER).setLevel(pods)


@pytest.mark.parametrize(
    ("verbosity", "shown"),
    [(0, ["started"]), (2, ["started", "bound"]), (4, ["started", "bound", "detail"])],
)
def test_verbosity_counts_as_klogs(verbosity: int, shown: list[str]) -> None:
    stream = io.StringIO()
    configure(verbosity, stream=stream)
    logging.getLogger("moorage.live").info("started")
    logging.getLogger(POD_LOGGER).info("bound")
    logging.getLogger("moorage.live").debug("detail")
    assert [line.rpartition("] ")[2] for line in stream.getvalue().splitlines()] == shown


def test_lines_look_like_klogs() -> None:
    stream = io.StringIO()
    configure(stream=stream)
    logging.getLogger("moorage.live").warning("pod %s is odd", "default/web")
    assert re.fullmatch(
        r"W\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ test_observe_logs:\d+\] pod default/web is odd\n", stream.getvalue()
    )


def test_lines_can_be_json() -> None:
    stream = io.StringIO()
    configure(as_json=True, stream=stream)
    try:
        raise ValueError("boom")
    except ValueError:
        logging.getLogger("moorage.live").exception("it broke")
    line = json.loads(stream.getvalue())
    assert line["msg"] == "it broke"
    assert line["severity"] == "error"
    assert "ValueError: boom" in line["err"]
