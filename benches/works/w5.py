#!/usr/bin/env python3
"""W5 as it is commonly played: an event heap in Python, vectors in numpy. Prints seconds of CPU time, updates and f(w) - min f at the end.

    python3 benches/works/w5.py BOUND RATE SECONDS

Ringmaster ASGD (Maranjyan, Tyurin and Richtarik, 2025, algorithm 4) with 6,174 workers; worker i takes 1 + sqrt(i) + |N(0, 1)| virtual seconds a gradient, f(w) is
w'Aw/2 - b'w with A = tridiag(-1, 2, -1)/4 and b = (-1/4, 0, ..., 0) in 1,729 dimensions, gradients have noise N(0, 0.01^2) in every coordinate. Snapshots
are shared, not copied, and the heap holds one entry a worker: as good as such a loop gets.
"""

import heapq
import sys
import time

import numpy as np

WORKERS, DIMENSION, SD = 6174, 1729, 0.01


def main():
    bound, rate, seconds = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    rng = np.random.default_rng(1)
    begun = time.process_time()
    mean = 1 + np.sqrt(np.arange(1, WORKERS + 1))
    w = np.zeros(DIMENSION)
    version = 0
    read = [(0, w)] * WORKERS
    heap = [(tau + abs(rng.standard_normal()), worker) for worker, tau in enumerate(mean)]
    heapq.heapify(heap)
    gradient = np.empty(DIMENSION)
    gradients = 0
    while heap[0][0] <= seconds:
        now, worker = heap[0]
        version_read, seen = read[worker]
        gradients += 1
        if version - version_read < bound:
            np.multiply(seen, 0.5, out=gradient)
            gradient[1:] -= 0.25 * seen[:-1]
            gradient[:-1] -= 0.25 * seen[1:]
            gradient[0] += 0.25
            gradient += SD * rng.standard_normal(DIMENSION)
            w = w - rate * gradient
            version += 1
        read[worker] = (version, w)
        heapq.heapreplace(heap, (now + mean[worker] + abs(rng.standard_normal()), worker))
    took = time.process_time() - begun
    loss = (w[0] ** 2 + w[-1] ** 2 + np.sum((w[1:] - w[:-1]) ** 2)) / 8 + w[0] / 4
    least = -DIMENSION / (8 * (DIMENSION + 1))
    print(took, version, gradients, loss - least)


main()
