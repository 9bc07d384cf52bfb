"""The data of gomx bench platforms: every system computes the same numbers itself, bit for bit."""
import numpy as np


def noise(first, n):
    """n numbers in [-0.5, 0.5) that depend on their positions, which begin at first."""
    h = np.arange(first, first + n, dtype=np.uint32)
    h *= np.uint32(2654435761)
    h ^= h >> np.uint32(15)
    h *= np.uint32(2246822519)
    h ^= h >> np.uint32(13)
    return (h >> np.uint32(8)).astype(np.float32) / np.float32(1 << 24) - np.float32(0.5)


def part(plan, rank):
    """The samples of a worker and their labels."""
    d, outputs = plan['features'], plan['outputs']
    n = plan['samples'] // plan['workers']
    x, y = np.empty((n, d), np.float32), np.empty(n, np.float32)
    for i in range(0, n, 100):
        k = min(100, n - i)
        rows = noise((rank * n + i) * d, k * d).reshape(k, d)
        x[i:i + k] = rows
        blocks = 2 if outputs == 1 else outputs
        width = d // blocks
        sums = rows[:, :width * blocks].reshape(k, blocks, width).sum(axis=2, dtype=np.float64)
        y[i:i + k] = sums[:, 0] > sums[:, 1] if outputs == 1 else sums.argmax(axis=1)
    return x, y


def layers(plan):
    """Inputs and outputs of every layer."""
    sizes = [plan['features']] + (plan['hidden'] or []) + [plan['outputs']]
    return list(zip(sizes, sizes[1:]))


def weights(plan, i):
    """The initial weights of layer i by He's rule, a row for each of its outputs. Biases are zero."""
    inputs, outputs = layers(plan)[i]
    return (noise(4000000007 + 10000019 * i, inputs * outputs) * np.float32((24 / inputs) ** 0.5)).reshape(outputs, inputs)


def loss(p, y):
    """Mean cross-entropy and accuracy of probabilities."""
    p = np.asarray(p, np.float64)
    if p.shape[1] == 1:
        p = p[:, 0]
        return -np.mean(np.where(y > 0.5, np.log(p), np.log(1 - p))), np.mean((p > 0.5) == (y > 0.5))
    return -np.mean(np.log(p[np.arange(len(y)), y.astype(int)])), np.mean(p.argmax(axis=1) == y)


def say(*fields):
    print('\t'.join(str(f) for f in fields), flush=True)
