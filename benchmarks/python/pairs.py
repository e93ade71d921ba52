# benchmarks/python/pairs.py -- a small cost on a machine that changes its speed all the time.
"""Used by the scripts that weigh one way of doing something against another."""

import statistics


def median_difference(time_of, pairs=40):
    """Return the median of ``time_of(True) - time_of(False)`` over neighbouring runs.

    Each comes first in every other pair: whoever comes second finds warmer caches.
    """
    differences = []
    for pair in range(pairs):
        first = pair % 2 == 1
        times = {way: time_of(way) for way in (first, not first)}
        differences.append(times[True] - times[False])
    return statistics.median(differences)
