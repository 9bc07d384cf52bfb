"""Writes the cases beside this file with MXNet 1.9.1: cases of kinds that the golden data do not have, in their formats.

    python make.py FOLDER

train/    a factor of gradients that is not 1/batch, data that are their own label, a batch on the second axis, a loss without a label
          dist_sync of another network, with MXNet's factor and with another
models/   a network for inference only
formats/  a checkpoint whose optimizer keeps two arrays for every parameter, and one whose optimizer keeps none
"""
import json, os, subprocess, sys
import numpy as np

OUT = os.path.abspath(sys.argv[1])
MASK = (1 << 64) - 1


def unit(name, n):
    h = 0xCBF29CE484222325
    for b in name.encode():
        h = ((h ^ b) * 0x100000001B3) & MASK
    u = np.empty(n)
    for i in range(n):
        h = (h + 0x9E3779B97F4A7C15) & MASK
        x = h
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        u[i] = ((x ^ (x >> 31)) >> 11) * 2.0 ** -52 - 1
    return u


def fill(name, shape):
    u = unit(name, int(np.prod(shape))).reshape(shape)
    if name.endswith("weight") and len(shape) >= 2:
        hw = int(np.prod(shape[2:]))
        v = np.sqrt(6 / (shape[1] * hw + shape[0] * hw)) * u
    elif name.endswith("data"):
        v = u
    else:
        v = 0.1 * u
    return v.astype("f")


def fill_input(spell, name, shape):
    if spell.startswith("int:"):
        k = int(spell[4:])
        u = unit(name, int(np.prod(shape))).reshape(shape)
        return np.minimum(np.floor((u + 1) * 0.5 * k), k - 1).astype("f")
    return fill(name, shape)


def dense():
    h = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=7, name="fc1")
    h = mx.sym.Activation(h, act_type="tanh", name="act1")
    h = mx.sym.FullyConnected(h, num_hidden=4, name="fc2")
    return mx.sym.SoftmaxOutput(h, name="softmax")


def wide():
    """No training case has this network: only its weights determine the shapes of its inputs."""
    h = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=9, name="first")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(h, num_hidden=4, name="last"), name="softmax")


def autoencoder():
    data = mx.sym.Variable("data")
    h = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=3, name="enc"), act_type="sigmoid", name="act")
    return mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(h, num_hidden=6, name="dec"), data, name="rec")


def steps_first():
    """The batch is the second axis, as in recurrent networks."""
    h = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=9, output_dim=4, name="emb")
    h = mx.sym.FullyConnected(mx.sym.Reshape(h, shape=(-1, 4), name="rows"), num_hidden=9, name="pred")
    return mx.sym.SoftmaxOutput(h, mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,), name="flat"), name="softmax")


def own_loss():
    h = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    return mx.sym.MakeLoss(mx.sym.square(h, name="square"), name="loss")


def inputs(model, spec, batches):
    return {n: {"shape": list(s), "fill": f, "names": ["own/%s/b%d/%s" % (model, i, n if n.endswith("label") else n + "/data") for i in range(batches)]}
            for n, (s, f) in spec.items()}


TRAIN = [  # id, network, batch, inputs, optimizer, its parameters, rescale_grad
    ("dense-rescale", dense, 6, {"data": ((6, 5), "unit"), "softmax_label": ((6,), "int:4")}, "sgd", {"learning_rate": 0.3, "momentum": 0.9, "wd": 0.01}, 0.25),
    ("dense-adam-rescale", dense, 6, {"data": ((6, 5), "unit"), "softmax_label": ((6,), "int:4")}, "adam", {"learning_rate": 0.02, "wd": 0.3}, 0.01),
    ("autoencoder", autoencoder, 5, {"data": ((5, 6), "unit")}, "sgd", {"learning_rate": 0.5, "momentum": 0.5}, 0.2),
    ("steps_first", steps_first, 3, {"data": ((4, 3), "int:9"), "softmax_label": ((4, 3), "int:9")}, "sgd", {"learning_rate": 0.2}, 1 / 3),
    ("own_loss", own_loss, 4, {"data": ((4, 5), "unit")}, "sgd", {"learning_rate": 0.2, "momentum": 0.9}, 0.25),
]


def loss_of(net, out, batch, given):
    op = json.loads(net.tojson())["nodes"][-1]["op"]
    out = out.astype("f8")
    if op == "MakeLoss":
        return out.mean()
    y = np.ravel(given["softmax_label"] if "softmax_label" in given else given["data"]).astype("f8")
    if op == "SoftmaxOutput":
        return -np.log(out[np.arange(len(y)), y.astype(int)]).mean()
    return ((np.ravel(out) - y) ** 2).mean()


def parameters(net, shapes):
    args, _, _ = net.infer_shape(**shapes)
    return {n: fill(n, s) for n, s in zip(net.list_arguments(), args) if n not in shapes}


def train():
    cases, arrays = [], {}
    for name, make, batch, spec, optimizer, params, rescale in TRAIN:
        net = make()
        file = "%s-symbol.json" % make.__name__
        net.save(os.path.join(OUT, "train", file))
        ins = inputs(name, spec, 2)
        labels = [n for n in spec if n.endswith("label")]
        data = [n for n in spec if n not in labels]
        mod = mx.mod.Module(net, data_names=data, label_names=labels or None)
        mod.bind([(n, spec[n][0]) for n in data], [(n, spec[n][0]) for n in labels] or None)
        initial = parameters(net, {n: s for n, (s, _) in spec.items()})
        mod.init_params(arg_params={n: mx.nd.array(v) for n, v in initial.items()}, aux_params={})
        mod.init_optimizer(kvstore=None, optimizer=optimizer, optimizer_params=dict(params, rescale_grad=rescale))
        losses, lengths = [], []
        for t in range(10):
            given = {n: fill_input(f, ins[n]["names"][t % 2], s) for n, (s, f) in spec.items()}
            mod.forward_backward(mx.io.DataBatch([mx.nd.array(given[n]) for n in data], [mx.nd.array(given[n]) for n in labels]))
            losses.append(float(loss_of(net, mod.get_outputs()[0].asnumpy(), batch, given)))
            mod.update()
            now = mod.get_params()[0]
            lengths.append(float(np.sqrt(sum((v.asnumpy().astype("f8") ** 2).sum() for v in now.values()))))
        final = []
        for n in sorted(now):
            arrays["%s/%s" % (name, n)] = now[n].asnumpy()
            final.append({"name": n, "key": "%s/%s" % (name, n), "shape": list(now[n].shape), "dtype": "float32"})
        cases.append({"id": name, "model": make.__name__, "symbol": file, "batch": batch, "optimizer": optimizer, "optimizer_params": params,
                      "rescale_grad": rescale, "steps": 10, "batches": 2, "file": "train.npz", "inputs": ins, "loss": losses, "param_l2": lengths,
                      "final_args": final, "final_aux": [], "backend_diff": {"loss_abs": 0, "final_args_abs": 0}})
    np.savez_compressed(os.path.join(OUT, "train", "train.npz"), **arrays)
    write("train/train.json", cases)


def dist_worker(net, rescale, path):
    kv = mx.kvstore.create("dist_sync")
    batch = 8
    mod = mx.mod.Module(net)
    mod.bind([("data", (batch, 5))], [("softmax_label", (batch,))])
    initial = parameters(net, {"data": (batch, 5), "softmax_label": (batch,)})
    mod.init_params(arg_params={n: mx.nd.array(v) for n, v in initial.items()}, aux_params={})
    params = {"learning_rate": 0.1, "momentum": 0.9, "wd": 1e-3}
    if rescale:
        params["rescale_grad"] = rescale
    mod.init_optimizer(kvstore=kv, optimizer="sgd", optimizer_params=params)
    for t in range(4):
        name = "dist/r%d/t%d/" % (kv.rank, t)
        mod.forward_backward(mx.io.DataBatch([mx.nd.array(fill(name + "data", (batch, 5)))], [mx.nd.array(fill_input("int:4", name + "label", (batch,)))]))
        mod.update()
    mod.get_params()
    kv._barrier()
    if kv.rank == 0:
        out = {n: v.asnumpy() for n, v in mod.get_params()[0].items()}
        np.savez(path, rescale_grad=np.array([rescale or 1 / (batch * kv.num_workers)]), **out)
    kv._barrier()


def dist():
    cases, arrays = [], {}
    for case, net, rescale in ("module.dense", dense, 0), ("module.rescale", wide, 0.125):
        file = "%s-symbol.json" % net.__name__
        net().save(os.path.join(OUT, "train", file))
        path = os.path.join(OUT, case + ".npz")
        env = dict(os.environ, DMLC_PS_ROOT_URI="127.0.0.1", DMLC_PS_ROOT_PORT="19731", DMLC_NUM_WORKER="2", DMLC_NUM_SERVER="1")
        roles = ["scheduler", "server", "worker", "worker"]
        ps = [subprocess.Popen([sys.executable, __file__, OUT, net.__name__, str(rescale), path], env=dict(env, DMLC_ROLE=r)) for r in roles]
        for p in ps:
            assert p.wait(timeout=300) == 0
        z = np.load(path)
        os.remove(path)
        results = []
        for n in z.files:
            arrays["%s/%s" % (case, n)] = z[n]
            results.append({"name": n, "key": "%s/%s" % (case, n), "shape": list(z[n].shape), "dtype": str(z[n].dtype)})
        cases.append({"id": case, "workers": 2, "servers": 1, "steps": 4, "bigarray_bound": 1000, "kvstore": "dist_sync", "keys": None,
                      "file": "dist.npz", "results": results, "symbol": file})
    np.savez_compressed(os.path.join(OUT, "train", "dist.npz"), **arrays)
    write("train/dist.json", cases)


def models():
    net = dense()
    net.save(os.path.join(OUT, "models", "dense-symbol.json"))
    shapes = {"data": (2, 5), "softmax_label": (2,)}
    args, outs, _ = net.infer_shape(**shapes)
    internals = net.get_internals()
    _, inner, _ = internals.infer_shape(**shapes)
    given = parameters(net, shapes)
    given["data"], given["softmax_label"] = fill("data", (2, 5)), fill_input("int:4", "softmax_label", (2,))
    ex = net.bind(mx.cpu(), {n: mx.nd.array(v) for n, v in given.items()}, grad_req="null")
    out = ex.forward(is_train=False)[0].asnumpy()
    np.savez_compressed(os.path.join(OUT, "models", "dense.npz"), **{"infer/softmax_output": out})
    ref = lambda n, s: {"name": n, "shape": list(s), "dtype": "float32"}
    write("models/cases.json", [{
        "name": "dense-inference", "symbol": "dense-symbol.json", "batch": 2,
        "inputs": {"data": {"shape": [2, 5], "fill": "param"}, "softmax_label": {"shape": [2], "fill": "int:4"}},
        "arguments": [ref(n, s) for n, s in zip(net.list_arguments(), args)], "aux": [], "outputs": [ref("softmax_output", outs[0])],
        "internals": len(inner), "internal_shapes": [[n, list(s)] for n, s in zip(internals.list_outputs(), inner)],
        "forward_infer": [dict(ref("softmax_output", out.shape), key="infer/softmax_output")], "file": "dense.npz"}])


def formats():
    cases, arrays = [], {}
    for optimizer, params in ("adam", {}), ("sgd", {"momentum": 0.0}):
        net, prefix = dense(), optimizer
        mod = mx.mod.Module(net)
        mod.bind([("data", (6, 5))], [("softmax_label", (6,))])
        initial = parameters(net, {"data": (6, 5), "softmax_label": (6,)})
        mod.init_params(arg_params={n: mx.nd.array(v) for n, v in initial.items()}, aux_params={})
        mod.init_optimizer(kvstore=None, optimizer=optimizer, optimizer_params=params)
        data, label = fill("own/ckpt/data", (6, 5)), fill_input("int:4", "own/ckpt/label", (6,))
        batch = mx.io.DataBatch([mx.nd.array(data)], [mx.nd.array(label)])
        for _ in range(3):
            mod.forward_backward(batch)
            mod.update()
        mod.save_checkpoint(os.path.join(OUT, "formats", prefix), 3, save_optimizer_states=True)
        mod.forward(batch, is_train=False)
        found = {"data": data, "label": label, "out": mod.get_outputs()[0].asnumpy()}
        found.update({"arg:" + n: v.asnumpy() for n, v in mod.get_params()[0].items()})
        arrays.update({"%s/%s" % (prefix, n): v for n, v in found.items()})
        ref = lambda n: {"key": "%s/%s" % (prefix, n), "shape": list(found[n].shape), "dtype": "float32"}
        cases.append({"kind": "checkpoint", "file": prefix + "-0003.params", "symbol": prefix + "-symbol.json", "states": prefix + "-0003.states", "epoch": 3,
                      "prefix": prefix, "states_format": "Python pickle of {index: state}", "data": ref("data"), "label": ref("label"), "outputs": [ref("out")],
                      "arrays": [dict(ref(n), name=n) for n in found if n.startswith("arg:")]})
    np.savez_compressed(os.path.join(OUT, "formats", "formats.npz"), **arrays)
    write("formats/formats.json", cases, npz="formats.npz")


def write(name, cases, **more):
    with open(os.path.join(OUT, name), "w") as f:
        json.dump(dict(mxnet=mx.__version__, cases=cases, **more), f)
        f.write("\n")


import mxnet as mx  # a server's process stays in here

if len(sys.argv) > 2:
    if os.environ["DMLC_ROLE"] == "worker":
        dist_worker(globals()[sys.argv[2]](), float(sys.argv[3]), sys.argv[4])
else:
    for folder in "train", "models", "formats":
        os.makedirs(os.path.join(OUT, folder), exist_ok=True)
    train()
    models()
    formats()
    dist()
