import numpy as np
from scipy.special import gammaln, logsumexp, xlogy

from wmel.stats.numerics import log_factorials, log_half_factorials, log_mean_exp, times_log


def test_they_agree_with_scipy():
    k = np.arange(2001)
    np.testing.assert_allclose(log_factorials(2000), gammaln(k + 1.0), rtol=1e-12)
    np.testing.assert_allclose(log_half_factorials(2000), gammaln(k + 0.5) - gammaln(0.5), rtol=1e-12, atol=1e-12)
    count, base = np.array([0.0, 0.0, 3.0, 2.0]), np.array([0.0, 2.0, 0.0, 0.3])
    np.testing.assert_allclose(times_log(count, base), xlogy(count, base))
    logs = np.random.default_rng(0).normal(scale=400, size=(5, 7))
    np.testing.assert_allclose(log_mean_exp(logs), logsumexp(logs, axis=-1) - np.log(7), rtol=1e-12)
