"""Settings of all tests."""

from hypothesis import settings

# No test depends on speed: a busy machine is no failure.
settings.register_profile("steady", deadline=None)
settings.load_profile("steady")
