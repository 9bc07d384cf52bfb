"""BERT-base and GPT-2 small in torch, onnxruntime or openvino, with the weights of gomx.
Usage: attention.py torch|ort|openvino FOLDER; reads names of lines and answers each with NAME<TAB>FIGURE<TAB>UNIT, or with
NAME<TAB>error<TAB>reason. The first answer of a line compares the outputs with those of gomx. Names are in attention.go."""
import math, re, sys, time
import numpy as np

peer, folder = sys.argv[1], sys.argv[2]
LAYERS, HEADS, UNITS, PROMPT, WORDS, ROOM = 12, 12, 768, 512, 16, 560
NAME = re.compile(r"attention\.(bert|prefill|decode)\.(\d+)\.bs(\d+)\.(float32|bfloat16)$")


def parts(kind, i):
    """Names of the parts of layer i: attention's products, its output, two norms, two products."""
    if kind == "bert":
        at = "encoder.transformer_cells.%d." % i
        return ([at + "attention_cell.proj_" + k for k in ("query", "key", "value")], at + "proj", at + "layer_norm",
                at + "ffn.layer_norm", at + "ffn.ffn_1", at + "ffn.ffn_2")
    a, f = "_self_attention_layers.%d." % i, "_ffn_layers.%d." % i
    return [a + "_multi_head_qkv_proj"], a + "_out_proj", "_attn_ln.%d" % i, "_ffn_ln.%d" % i, f + "_hidden_map", f + "_out_map"


def joined(p, names, what):
    return np.concatenate([p[n + what] for n in names])


def torch_model(kind, p, precision):
    """Returns a function of words and a number of steps before, to the output as float32."""
    import torch
    import torch.nn.functional as F
    t = getattr(torch, precision)
    w = {k: torch.tensor(v).to(t) for k, v in p.items()}
    qkv = [[torch.tensor(joined(p, parts(kind, i)[0], s)).to(t) for s in (".weight", ".bias")] for i in range(LAYERS)]

    def dense(name, x):
        return F.linear(x, w[name + ".weight"], w.get(name + ".bias"))

    def norm(name, x, eps):
        return F.layer_norm(x, (UNITS,), w[name + ".gamma"], w[name + ".beta"], eps)

    def heads(x):
        return [a.reshape(a.shape[0], a.shape[1], HEADS, -1).transpose(1, 2) for a in x.chunk(3, 2)]

    def out(name, x):
        return dense(name, x.transpose(1, 2).flatten(2))

    def bert(words, _):
        x = F.embedding(torch.tensor(words), w["word_embed.0.weight"])
        x = norm("encoder.layer_norm", x + w["encoder.position_weight"][:words.shape[1]], 1e-12)
        for i in range(LAYERS):
            _, proj, n1, n2, f1, f2 = parts(kind, i)
            y = F.scaled_dot_product_attention(*heads(F.linear(x, *qkv[i])))
            x = norm(n1, x + out(proj, y), 1e-12)
            x = norm(n2, x + dense(f2, F.gelu(dense(f1, x))), 1e-12)
        return x

    caches = [[torch.zeros(1, HEADS, ROOM, UNITS // HEADS, dtype=t) for _ in "kv"] for _ in range(LAYERS)] if kind != "bert" else []

    def gpt2(words, before):
        n = words.shape[1]
        x = F.embedding(torch.tensor(words), w["_embed.weight"]) + w["_pos_embed.weight"][before:before + n]
        for i in range(LAYERS):
            _, proj, n1, n2, f1, f2 = parts(kind, i)
            q, k, v = heads(F.linear(norm(n1, x, 1e-5), *qkv[i]))
            caches[i][0][:, :, before:before + n], caches[i][1][:, :, before:before + n] = k, v
            y = F.scaled_dot_product_attention(q, *(c[:, :, :before + n] for c in caches[i]), is_causal=n > 1)
            x = x + out(proj, y)
            x = x + dense(f2, F.gelu(dense(f1, norm(n2, x, 1e-5)), approximate="tanh"))
        return dense("_embed", norm("_final_ln", x[:, -1], 1e-5))

    def run(words, before):
        with torch.inference_mode():
            return (bert if kind == "bert" else gpt2)(words, before).float().numpy()

    return run


def ort_graph(kind, p, cached, room=ROOM):
    """Returns a model of the operators that onnxruntime's optimizer for transformers makes."""
    import onnx
    from onnx import TensorProto as T, helper, numpy_helper
    nodes, init = [], []

    def const(name, value):
        init.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(op, inputs, n=1, domain="", **attrs):
        outs = ["%s_%d_%d" % (op, len(nodes), k) for k in range(n)]
        nodes.append(helper.make_node(op, inputs, outs, domain=domain, **attrs))
        return outs[0] if n == 1 else outs

    def ms(op, inputs, n=1, **attrs):
        return node(op, inputs, n, "com.microsoft", **attrs)

    def matmul(name, x, bias=True):
        y = node("MatMul", [x, const(name + ".w", p[name + ".weight"].T)])
        return node("Add", [y, const(name + ".b", p[name + ".bias"])]) if bias else y

    def skipnorm(name, x, skip, eps):
        """The normalized sum, and the sum."""
        y = ms("SkipLayerNormalization", [x, skip, const(name + ".g", p[name + ".gamma"]), const(name + ".be", p[name + ".beta"])],
               4, epsilon=eps)
        return y[0], y[3]

    def norm(name, x, eps):
        return node("LayerNormalization", [x, const(name + ".g", p[name + ".gamma"]), const(name + ".be", p[name + ".beta"])],
                    epsilon=eps)

    def qkv(names):
        return joined(p, names, ".weight").T, joined(p, names, ".bias")

    def attention(i, names, x, causal):
        w, b = qkv(names)
        w, b = const("qkv%d.w" % i, w), const("qkv%d.b" % i, b)
        if not cached:
            return ms("Attention", [x, w, b], num_heads=HEADS, unidirectional=int(causal))
        y = node("Split", [node("Add", [node("MatMul", [x, w]), b])], 3, axis=2, num_outputs=3)
        outs = ["attention%d" % i, "new_key%d" % i, "new_value%d" % i]
        nodes.append(helper.make_node("GroupQueryAttention", y + ["key%d" % i, "value%d" % i, "before", "total"], outs,
                                      domain="com.microsoft", num_heads=HEADS, kv_num_heads=HEADS))
        return outs[0]

    def feed(f1, f2, x, gelu):
        y = node("MatMul", [x, const(f1 + ".w", p[f1 + ".weight"].T)])
        return matmul(f2, ms(gelu, [y, const(f1 + ".b", p[f1 + ".bias"])]))

    if kind == "bert":
        x = node("Gather", [const("words.w", p["word_embed.0.weight"]), "words"])
        x = norm("encoder.layer_norm", node("Add", [x, node("Gather", [const("places.w", p["encoder.position_weight"]), "places"])]), 1e-12)
        for i in range(LAYERS):
            names, proj, n1, n2, f1, f2 = parts(kind, i)
            x, _ = skipnorm(n1, matmul(proj, attention(i, names, x, False)), x, 1e-12)
            x, _ = skipnorm(n2, feed(f1, f2, x, "BiasGelu"), x, 1e-12)
    else:
        x = node("Add", [node("Gather", [const("words.w", p["_embed.weight"]), "words"]),
                         node("Gather", [const("places.w", p["_pos_embed.weight"]), "places"])])
        y = norm("_attn_ln.0", x, 1e-5)
        for i in range(LAYERS):
            names, proj, n1, n2, f1, f2 = parts(kind, i)
            y, x = skipnorm(n2, matmul(proj, attention(i, names, y, True)), x, 1e-5)
            y, x = skipnorm("_attn_ln.%d" % (i + 1) if i + 1 < LAYERS else "_final_ln", feed(f1, f2, y, "FastGelu"), x, 1e-5)
        x = node("Gather", [y, const("last", np.array(-1, np.int64))], axis=1)
        x = node("MatMul", [x, const("scores.w", p["_embed.weight"].T)])
    ins = [helper.make_tensor_value_info(n, T.INT64, s) for n, s in (("words", ["n", "t"]), ("places", ["t"]))]
    outs = [helper.make_tensor_value_info(x, T.FLOAT, None)]
    if cached:
        ins += [helper.make_tensor_value_info(n, T.INT32, s) for n, s in (("before", [1]), ("total", []))]
        shape = [1, HEADS, room, UNITS // HEADS]
        for i in range(LAYERS):
            ins += [helper.make_tensor_value_info("%s%d" % (k, i), T.FLOAT, shape) for k in ("key", "value")]
            outs += [helper.make_tensor_value_info("new_%s%d" % (k, i), T.FLOAT, shape) for k in ("key", "value")]
    model = helper.make_model(helper.make_graph(nodes, "net", ins, outs, init), ir_version=9, opset_imports=[
        helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)])
    return model.SerializeToString(), x


def ort_model(kind, p, cached):
    import onnxruntime as ort
    graph, name = ort_graph(kind, p, cached)
    session = ort.InferenceSession(graph, providers=["CPUExecutionProvider"])
    del graph
    if not cached:
        return lambda words, before: session.run([name], {"words": words, "places": np.arange(words.shape[1])})[0]
    caches = {"%s%d" % (k, i): ort.OrtValue.ortvalue_from_numpy(np.zeros((1, HEADS, ROOM, UNITS // HEADS), np.float32))
              for k in ("key", "value") for i in range(LAYERS)}

    def run(words, before):
        n, b = words.shape[1], session.io_binding()
        b.bind_cpu_input("words", words)
        b.bind_cpu_input("places", np.arange(before, before + n))
        b.bind_cpu_input("before", np.array([before + n - 1], np.int32))
        b.bind_cpu_input("total", np.array(before + n, np.int32))
        b.bind_output(name)
        for k, v in caches.items():
            b.bind_ortvalue_input(k, v)
            b.bind_ortvalue_output("new_" + k, v)
        session.run_with_iobinding(b)
        return b.copy_outputs_to_cpu()[0]

    return run


def openvino_model(kind, p, cached, precision):
    """The same graph in openvino, whose caches are states of the network that grow by each call."""
    import openvino as ov
    from openvino._offline_transformations import apply_make_stateful_transformation
    graph, _ = ort_graph(kind, p, cached, "past")
    core = ov.Core()
    net = core.read_model(graph, b"")
    del graph
    names = ["%s%d" % (k, i) for k in ("key", "value") for i in range(LAYERS) if cached]
    if cached:
        apply_make_stateful_transformation(net, {n: "new_" + n for n in names})
    config = {"INFERENCE_NUM_THREADS": 2, "PERFORMANCE_HINT": "LATENCY",
              "INFERENCE_PRECISION_HINT": "bf16" if precision == "bfloat16" else "f32"}
    request = core.compile_model(net, "CPU", config).create_infer_request()
    prompt = {}

    def run(words, before):
        n = words.shape[1]
        feeds = {"words": words, "places": np.arange(before, before + n)}
        if cached:
            feeds.update(before=np.array([before + n - 1], np.int32), total=np.array(before + n, np.int32))
            if before == 0:
                request.reset_state()
        out = np.array(request.infer(feeds)[0])
        if cached and before == 0:
            prompt.update((s.name, np.array(s.state.data)) for s in request.query_state())
        return out

    def rewind():
        """Takes the words behind the prompt out of the caches."""
        for s in request.query_state():
            s.state = ov.Tensor(prompt[s.name])

    run.rewind = rewind
    return run


weights, models = {}, {}


def model(kind, mode, precision):
    kind = "bert" if kind == "bert" else "gpt2"
    key = (kind, peer != "torch" and mode == "decode", precision)
    if key not in models:
        models.clear()
        if kind not in weights:
            weights.clear()
            weights[kind] = dict(np.load("%s/%s.npz" % (folder, kind)))
        if peer == "torch":
            models[key] = torch_model(kind, weights[kind], precision)
        elif peer == "openvino":
            models[key] = openvino_model(kind, weights[kind], key[1], precision)
        else:
            models[key] = ort_model(kind, weights[kind], key[1])
    return models[key]


checked = set()


def measure(line):
    m = NAME.match(line)
    if not m or peer == "ort" and m.group(4) != "float32":
        raise ValueError("no such line")
    mode, precision = m.group(1), m.group(4)
    run, batch = model(mode, mode, precision), np.load("%s/%s.npz" % (folder, line))
    words, want = batch["words"].astype(np.int64), batch["output"]
    if mode == "decode" and line not in checked:
        run(words[:, :PROMPT], 0)

    rewind = getattr(run, "rewind", lambda: None) if mode == "decode" else lambda: None

    def call():
        if mode != "decode":
            return run(words, 0)
        for i in range(WORDS):
            y = run(words[:, PROMPT + i:PROMPT + i + 1], PROMPT + i)
        return y

    if line not in checked:
        rewind()
        y = call().reshape(want.shape)
        error = np.linalg.norm(y - want) / np.linalg.norm(want)
        if not error < (1e-3 if precision == "float32" else 5e-2):
            raise ValueError("the output differs from gomx's by %.2g of its norm" % error)
        checked.add(line)
    rewind()
    start = time.perf_counter()
    call()
    t = time.perf_counter() - start
    if mode == "bert":
        return "%s\t%.5g\tsequences/s" % (line, words.shape[0] / t)
    return "%s\t%.5g\twords/s" % (line, (words.shape[1] if mode == "prefill" else WORDS) / t)


for line in sys.stdin:
    line = line.strip()
    try:
        print(measure(line), flush=True)
    except Exception as e:
        print("%s\terror\t%s" % (line, " ".join(str(e).split())), flush=True)
