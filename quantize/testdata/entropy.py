"""Prints MXNet's entropy threshold of each set of numbers: entropy.py NUMBERS.params

The file has the batches of a set under the names SET.0, SET.1 and so on.
"""
import sys

import mxnet as mx
import numpy as np
from mxnet.contrib import quantization as q

batches = {}
for name, array in sorted(mx.nd.load(sys.argv[1]).items()):
    batches.setdefault(name.rsplit(".", 1)[0], []).append(array.asnumpy())
for name, list_ in batches.items():
    found = None
    for a in list_:
        low, high = np.min(a), np.max(a)
        th = max(abs(low), abs(high))
        if found is None:
            counts, edges = np.histogram(a, bins=8001, range=(-th, th))
            found = (counts, edges, low, high, th)
        else:
            found = q.combine_histogram(found, a, low, high, th)
    low, high, threshold, _ = q._get_optimal_threshold(found, "auto")
    print(name, repr(float(np.ravel(threshold)[0])))
