"""Small products on a shared machine: a second thread mostly waits."""

import pytest

from wmel.machine import limited_to


@pytest.fixture(autouse=True)
def one_thread():
    with limited_to(1):
        yield
