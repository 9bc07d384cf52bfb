"""Writes cases of LibSVMIter beside this file with MXNet 1.9.1, in the format of sparse/libsvm.json of the golden data.

    python make_libsvm.py FOLDER

Files with comments, query numbers, weights, columns in any order, ends of lines of Windows, and without a last end of line; several
files at once; all parts of several files; label files; batches of all sizes.
"""
import json, os, random, sys
import numpy as np
import mxnet as mx

OUT = os.path.abspath(sys.argv[1])
DIR = os.path.join(OUT, "sparse")
arrays, cases = {}, []


def ref(key, a):
    a = np.asarray(a)
    arrays[key] = a
    return {"key": key, "shape": list(a.shape), "dtype": str(a.dtype)}


def stored(key, a):
    r = dict({"stype": a.stype}, **ref(key, a.asnumpy()))
    if a.stype == "default":
        return r
    starts = a.indptr.asnumpy().astype("int64")
    n = int(starts[-1])
    columns, values = a.indices.asnumpy()[:n].astype("int64"), a.data.asnumpy()[:n]
    for i in range(len(starts) - 1):
        part = slice(starts[i], starts[i + 1])
        order = np.argsort(columns[part], kind="stable")
        columns[part], values[part] = columns[part][order], values[part][order]
    r["data"], r["indices"], r["indptr"] = ref(key + ".data", values), ref(key + ".indices", columns), ref(key + ".indptr", starts)
    return r


def case(id, epochs=2, **kwargs):
    paths = {k: ";".join(os.path.join(DIR, f) for f in v.split(";")) if k.endswith("libsvm") else v for k, v in kwargs.items()}
    it = mx.io.LibSVMIter(**paths)
    list_of_epochs = []
    for e in range(epochs):
        if e > 0:
            it.reset()
        batches = []
        for b in it:
            key = "%s/e%d/b%d/" % (id, e, len(batches))
            batches.append({"data": stored(key + "data", b.data[0]), "label": stored(key + "label", b.label[0]), "pad": b.pad})
        list_of_epochs.append(batches)
    cases.append({"id": id, "kwargs": kwargs, "file": "libsvm.npz", "epochs": list_of_epochs})


def write(name, n, width, r, style="", eol="\n", last=True):
    lines = []
    for i in range(n):
        columns = sorted(r.sample(range(width), r.randint(0, width)))
        if "shuffled" in style:
            r.shuffle(columns)
        label = r.choice(["0", "1", "-1", "+1", "2.5", "1e-1"])
        if "weights" in style and i % 2:
            label += ":0.25"
        words = [label]
        if "qid" in style:
            words.append("qid:%d" % i)
        words += ["%d:%s" % (c, r.choice(["%g" % r.gauss(0, 3), "%.8e" % r.gauss(0, 1e-3), "%d" % r.randint(-9, 9), "%.17g" % np.float32(r.random())]))
                  for c in columns]
        line = r.choice([" ", "  ", "\t"]).join(words) if "spaces" in style else " ".join(words)
        if "comments" in style and i % 3 == 0:
            line += " # 1:2 x"
        if "blank" in style and i % 3 == 1:
            lines.append("")
        lines.append(line)
    with open(os.path.join(DIR, name), "wb") as f:
        f.write((eol.join(lines) + (eol if last else "")).encode())


os.makedirs(DIR, exist_ok=True)
r = random.Random(7)
write("b.libsvm", 13, 9, r)
write("c.libsvm", 8, 9, r, last=False)
write("d.libsvm", 11, 9, r, "comments qid weights shuffled", eol="\r\n")
write("e.libsvm", 9, 9, r, "blank spaces")
write("b_label.libsvm", 13, 4, r)
for batch in (1, 3, 13, 7):
    case("batch%d" % batch, epochs=3, data_libsvm="b.libsvm", data_shape=[9], batch_size=batch)
case("unended", data_libsvm="c.libsvm", data_shape=[9], batch_size=3)
case("styles", data_libsvm="d.libsvm", data_shape=[9], batch_size=4)
case("blank", data_libsvm="e.libsvm", data_shape=[9], batch_size=4)
case("files", data_libsvm="b.libsvm;c.libsvm;e.libsvm", data_shape=[9], batch_size=4, label_shape=[1])
case("labels", data_libsvm="b.libsvm", data_shape=[9], label_libsvm="b_label.libsvm", label_shape=[4], batch_size=5)
case("prefetch", data_libsvm="b.libsvm", data_shape=[9], batch_size=5, prefetch_buffer=1, round_batch=True, dtype="float32",
     data_name="x", label_name="y")
for parts in (2, 3):
    for part in range(parts):
        case("part%dof%d" % (part, parts), data_libsvm="b.libsvm", data_shape=[9], batch_size=2, num_parts=parts, part_index=part)
        case("files_part%dof%d" % (part, parts), data_libsvm="c.libsvm;b.libsvm", data_shape=[9], batch_size=2, num_parts=parts,
             part_index=part, epochs=2)
np.savez_compressed(os.path.join(DIR, "libsvm.npz"), **arrays)
with open(os.path.join(DIR, "libsvm.json"), "w") as f:
    json.dump({"mxnet": mx.__version__, "cases": cases}, f)
    f.write("\n")
sys.stdout.flush()
os._exit(0)  # MXNet 1.9.1 may crash when it destroys its iterators
