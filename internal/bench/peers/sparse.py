"""Operators and training steps with sparse operands. Usage: sparse.py [mxnet|torch] [REGEX of line names]"""
import ctypes, re, sys, time
import numpy as np
wanted = re.compile(sys.argv[2] if len(sys.argv) > 2 else "").search
peer = sys.argv[1] if len(sys.argv) > 1 else "mxnet"
BATCH, COLUMNS, ROWS, WIDTH, TOUCHED, BATCHES = 512, 100000, 1000000, 64, 4096, 64
DENSITIES = (("0.01%", 1e-4), ("0.1%", 1e-3), ("1%", 1e-2))
rng = np.random.RandomState(1)


def measure(line, step, wait):
    def loop(n):
        s = time.perf_counter()
        for _ in range(n):
            step()
        wait()
        return (time.perf_counter() - s) / n

    loop(2)
    t = min(loop(50) for _ in range(3))
    print("%s\t%.3f\tus/op" % (line, t * 1e6), flush=True)


def pages(line, step, wait):
    total, steps = 0, 8
    step()
    for _ in range(steps):
        wait()
        with open("/proc/self/clear_refs", "w") as f:
            f.write("1")
        step()
        wait()
        with open("/proc/self/smaps") as f:
            for l in f:
                fields = l.split()
                if len(fields) >= 5 and "-" in fields[0]:
                    of_file = fields[4] != "0"
                elif fields[0] == "Referenced:" and not of_file:
                    total += int(fields[1])
    print("%s\t%.3f\tMiB" % (line, total / steps / 1024), flush=True)


def different(n, limit):
    return np.sort(rng.choice(limit, n, replace=False)).astype(np.int64)


def matrix(share):
    n = int(COLUMNS * share)
    columns = np.concatenate([different(n, COLUMNS) for _ in range(BATCH)])
    return rng.rand(len(columns)).astype(np.float32), columns, np.arange(BATCH + 1, dtype=np.int64) * n


def some_rows(n):
    return rng.rand(n, WIDTH).astype(np.float32), different(n, ROWS)


class MXNet:
    def __init__(self):
        import mxnet as mx
        self.mx, self.wait = mx, mx.nd.waitall

    def dot(self, share, transposed):
        nd = self.mx.nd
        values, columns, starts = matrix(share)
        x = nd.sparse.csr_matrix((values, columns, starts), shape=(BATCH, COLUMNS))
        y = nd.random.uniform(-1, 1, shape=(BATCH if transposed else COLUMNS, WIDTH))
        return lambda: nd.sparse.dot(x, y, transpose_a=transposed)

    def table(self, name, rows, ids):
        mx = self.mx
        w = mx.nd.full((rows, WIDTH), 0.5)
        w.attach_grad(stype="row_sparse")
        ids, at = [mx.nd.array(i) for i in ids], [0]
        update = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.01, lazy_update=True))

        def step():
            at[0] = (at[0] + 1) % len(ids)
            with mx.autograd.record():
                y = mx.nd.Embedding(ids[at[0]], w, input_dim=rows, output_dim=WIDTH, sparse_grad=True)
            y.backward()
            update(0, w.grad, w)
        return step

    def rows(self, n):
        values, ids = some_rows(n)
        return self.mx.nd.sparse.row_sparse_array((values, ids), shape=(ROWS, WIDTH))

    def retain(self, n):
        x, ids = self.rows(2 * n), self.mx.nd.array(different(n, ROWS), dtype="int64")
        return lambda: self.mx.nd.sparse.retain(x, ids)

    def add(self, n):
        x, y = self.rows(n), self.rows(n)
        return lambda: self.mx.nd.sparse.elemwise_add(x, y)


class Torch:
    def __init__(self):
        import torch
        self.torch, self.wait = torch, lambda: None

    def tensor(self, x):  # without NumPy, whose version torch may not know
        t = self.torch
        return t.tensor(x.tolist(), dtype=t.int64 if x.dtype == np.int64 else t.float32)

    def dot(self, share, transposed):
        t = self.torch
        values, columns, starts = matrix(share)
        rows = np.repeat(np.arange(BATCH), np.diff(starts))
        if transposed:
            x = t.sparse_coo_tensor(self.tensor(np.stack([columns, rows])), self.tensor(values), (COLUMNS, BATCH)).coalesce().to_sparse_csr()
        else:
            x = t.sparse_csr_tensor(self.tensor(starts), self.tensor(columns), self.tensor(values), (BATCH, COLUMNS))
        y = t.rand(BATCH if transposed else COLUMNS, WIDTH)
        return lambda: x @ y

    def table(self, name, rows, ids):
        t = self.torch
        table = t.nn.Embedding(rows, WIDTH, sparse=True)
        ids, at = [self.tensor(i) for i in ids], [0]
        o = (t.optim.SparseAdam if name == "adam" else t.optim.SGD)(list(table.parameters()), lr=0.01)

        def step():
            at[0] = (at[0] + 1) % len(ids)
            o.zero_grad()
            table(ids[at[0]]).sum().backward()
            o.step()
        return step

    def rows(self, n):
        values, ids = some_rows(n)
        return self.torch.sparse_coo_tensor(self.tensor(ids[None, :]), self.tensor(values), (ROWS, WIDTH)).coalesce()

    def retain(self, n):
        x, ids = self.rows(2 * n), self.tensor(different(n, ROWS))
        return lambda: x.index_select(0, ids)

    def add(self, n):
        x, y = self.rows(n), self.rows(n)
        return lambda: (x + y).coalesce()


p = Torch() if peer == "torch" else MXNet()


def line(name, prepare):
    if wanted(name):
        measure(name, prepare(), p.wait)


for text, share in DENSITIES:
    n = int(ROWS * share)
    line("sparse.dot." + text, lambda: p.dot(share, False))
    line("sparse.dot_t." + text, lambda: p.dot(share, True))
    line("sparse.embedding.sgd." + text, lambda: p.table("sgd", ROWS, [different(n, ROWS)]))
    line("sparse.embedding.adam." + text, lambda: p.table("adam", ROWS, [different(n, ROWS)]))
    line("sparse.retain." + text, lambda: p.retain(n))
    line("sparse.add." + text, lambda: p.add(n))
for rows in (100000, 1000000, 10000000):
    line("sparse.rows.%d" % rows, lambda: p.table("adam", rows, [different(TOUCHED, 100000)]))
for rows in (100000, 1000000, 10000000):
    name = "sparse.random.%d" % rows
    random = lambda: p.table("adam", rows, [different(TOUCHED, rows) for _ in range(BATCHES)])
    line(name, random)
    if wanted(name + ".pages"):
        ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # no huge pages
        pages(name + ".pages", random(), p.wait)
