"""What holds for all tests."""

import asyncio

from hypothesis import settings

# A slow machine is no failure: no test asserts times.
settings.register_profile("moorage", deadline=None)
settings.load_profile("moorage")


def pytest_configure() -> None:
    """Say that the main thread has no event loop.

    Asked for one, Python 3.11 makes it. pytest-asyncio asks before its first test and never closes what it got: a
    warning, and with it an error, in whichever test the garbage collector runs next.
    """
    asyncio.set_event_loop(None)
