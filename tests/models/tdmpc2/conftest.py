"""One thread: at the sizes of these tests a second one only costs time."""

import pytest

from wmel.machine import limit_threads


@pytest.fixture(autouse=True)
def one_thread():
    with limit_threads(1):
        yield
