import os

from wmel.machine import limited_to, threads


def test_a_limit_holds_inside_and_not_outside(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = threads()
    assert before == len(os.sched_getaffinity(0))
    with limited_to(1):
        assert threads() == 1
    assert threads() == before


def test_a_worker_is_told_by_its_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert threads() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "nonsense")
    assert threads() == len(os.sched_getaffinity(0))
