import os

from wmel.machine import limit_threads, thread_limit


def test_a_limit_holds_inside_and_not_outside(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = thread_limit()
    assert before == len(os.sched_getaffinity(0))
    with limit_threads(1):
        assert thread_limit() == 1
    assert thread_limit() == before


def test_a_worker_is_told_by_its_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert thread_limit() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "nonsense")
    assert thread_limit() == len(os.sched_getaffinity(0))
