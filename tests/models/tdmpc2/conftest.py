"""One thread: at the sizes of these tests a second one only costs time."""

import pytest

from wmel.machine import limited_to


@pytest.fixture(autouse=True)
def one_thread():
    with limited_to(1):
        yield
