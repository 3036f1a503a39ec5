"""Small products on a shared machine: a second thread mostly waits."""

import pytest

from wmel.machine import limit_threads


@pytest.fixture(autouse=True)
def one_thread():
    with limit_threads(1):
        yield
