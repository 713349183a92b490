"""Kalman's filter: the exact answer for linear models, which the tests compare with."""

import numpy as np


def kalman(A, Q, C, R, mean, covariance, observations):
    """Means, covariances and log evidence of each observation; the first meets the prior itself."""
    means, covariances, evidence = [], [], []
    for t, y in enumerate(observations):
        if t > 0:
            mean, covariance = A @ mean, A @ covariance @ A.T + Q
        heard = np.isfinite(y)
        if heard.any():
            c, r = C[heard], R[np.ix_(heard, heard)]
            s = c @ covariance @ c.T + r
            apart = y[heard] - c @ mean
            gain = covariance @ c.T @ np.linalg.inv(s)
            evidence.append(-0.5 * apart @ np.linalg.solve(s, apart) - 0.5 * np.linalg.slogdet(2 * np.pi * s)[1])
            mean, covariance = mean + gain @ apart, covariance - gain @ c @ covariance
        else:
            evidence.append(0.0)
        means.append(mean)
        covariances.append(covariance)
    return np.array(means), np.array(covariances), np.array(evidence)
