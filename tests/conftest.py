"""Settings of the whole suite."""

from hypothesis import settings

# A slow machine is no failure: no test asserts times.
settings.register_profile("moorage", deadline=None)
settings.load_profile("moorage")
