"""Coroutine tests here too."""

from tests.connector.conftest import pytest_pyfunc_call  # noqa: F401 - a hook
