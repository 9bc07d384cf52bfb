"""Makes the stored cases: models, inputs and the outputs that ONNX's reference evaluator computes.

python make_cases.py cases, with onnx 1.17.0 and numpy. Each case is a folder in the layout of
ONNX's node tests.
"""
import os
import sys

import numpy as np
from onnx import TensorProto as T, helper as h, numpy_helper as nph, save
from onnx.reference import ReferenceEvaluator

root = sys.argv[1]
rng = np.random.default_rng(7)
f32 = lambda *s: rng.standard_normal(s).astype(np.float32)
i64 = lambda *v: np.array(v, np.int64)


def case(name, nodes, inputs, weights=(), opset=17, outs=("y",), open_dims=False,
         domains=()):
    """Stores one case; open_dims names the extents of the inputs instead of giving them, domains
    has the names and versions of further operator sets."""
    info = [h.make_tensor_value_info(n, h.np_dtype_to_tensor_dtype(a.dtype),
                                     [f"{n}{i}" for i in range(a.ndim)] if open_dims else a.shape)
            for n, a in inputs.items()]
    init = [w if isinstance(w, T) else nph.from_array(w[1], w[0]) for w in weights]
    g = h.make_graph(nodes, name, info, [h.make_empty_tensor_value_info(o) for o in outs], init)
    m = h.make_model(g, opset_imports=[h.make_opsetid(*d) for d in (("", opset), *domains)],
                     ir_version=9)
    want = ReferenceEvaluator(m).run(None, inputs)
    data = os.path.join(root, name, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    save(m, os.path.join(root, name, "model.onnx"))
    for kind, arrays in (("input", inputs.values()), ("output", want)):
        for i, a in enumerate(arrays):
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as f:
                f.write(nph.from_array(np.asarray(a), f"{kind}{i}").SerializeToString())


n = h.make_node
x = f32(2, 3, 6, 5)
case("conv_relu_pool", [n("Conv", ["x", "w", "b"], ["c"], pads=[1, 0, 2, 1], strides=[2, 1]),
                        n("Relu", ["c"], ["r"]), n("MaxPool", ["r"], ["y"], kernel_shape=[2, 2])],
     {"x": x}, [("w", f32(4, 3, 3, 2)), ("b", f32(4))])
case("gemm_old", [n("Gemm", ["x", "w", "b"], ["y"], transB=1, alpha=0.5, beta=2.0)],
     {"x": f32(3, 4)}, [("w", f32(5, 4)), ("b", f32(5))], opset=7)
case("shape_chain", [n("Shape", ["x"], ["s"]), n("Gather", ["s", "zero"], ["b"], axis=0),
                     n("Unsqueeze", ["b", "axis"], ["b1"]),
                     n("Concat", ["b1", "rest"], ["t"], axis=0), n("Reshape", ["x", "t"], ["y"])],
     {"x": x}, [("zero", np.int64(0)), ("axis", i64(0)), ("rest", i64(-1))], open_dims=True)
case("range_expand", [n("Shape", ["x"], ["s"]), n("ReduceProd", ["s"], ["p"], keepdims=0),
                      n("Range", ["zero", "p", "one"], ["r"]), n("Reshape", ["r", "s"], ["q"]),
                      n("Cast", ["q"], ["f"], to=T.FLOAT), n("Add", ["x", "f"], ["y"])],
     {"x": f32(2, 3)}, [("zero", np.int64(0)), ("one", np.int64(1))], open_dims=True)


def branch(name, node):
    return h.make_graph([node], name, [], [h.make_empty_tensor_value_info(node.output[0])])


case("if_rank", [n("Size", ["x"], ["s"]), n("Greater", ["s", "five"], ["c"]),
                 n("If", ["c"], ["y"], then_branch=branch("big", n("Neg", ["x"], ["o1"])),
                   else_branch=branch("small", n("Exp", ["x"], ["o2"])))],
     {"x": f32(2, 3)}, [("five", np.int64(5))])
case("slice_steps", [n("Slice", ["x", "b", "e", "a", "s"], ["y"])], {"x": x},
     [("b", i64(-1, 1)), ("e", i64(-99, 5)), ("a", i64(2, 3)), ("s", i64(-2, 2))])
case("slice_old", [n("Slice", ["x"], ["y"], starts=[1, 0], ends=[9, -1], axes=[2, 3])], {"x": x},
     opset=9)
case("layer_norm", [n("LayerNormalization", ["x", "g", "b"], ["y"], axis=-1)], {"x": f32(2, 3, 8)},
     [("g", f32(8)), ("b", f32(8))])
case("batch_norm", [n("BatchNormalization", ["x", "g", "b", "m", "v"], ["y"])], {"x": x},
     [("g", f32(3)), ("b", f32(3)), ("m", f32(3)), ("v", np.abs(f32(3)))])
case("matmul_batch", [n("MatMul", ["a", "b"], ["y"])], {"a": f32(2, 1, 3, 4), "b": f32(5, 4, 2)})
case("lstm", [n("LSTM", ["x", "w", "r", "b"], ["y", "h"], hidden_size=3)], {"x": f32(4, 2, 5)},
     [("w", f32(1, 12, 5)), ("r", f32(1, 12, 3)), ("b", f32(1, 24))], outs=("y", "h"))
case("gru_before_reset", [n("GRU", ["x", "w", "r", "b"], ["y", "h"], hidden_size=3,
                            linear_before_reset=1)], {"x": f32(4, 2, 5)},
     [("w", f32(1, 9, 5)), ("r", f32(1, 9, 3)), ("b", f32(1, 18))], outs=("y", "h"))
case("gather_negative", [n("Gather", ["x", "i"], ["y"], axis=3)], {"x": x}, [("i", i64(-1, 0, 2))])
case("topk", [n("TopK", ["x", "k"], ["v", "i"], axis=2, largest=0)], {"x": x}, [("k", i64(3))],
     outs=("v", "i"))
case("scalar_ops", [n("ReduceSum", ["x"], ["s"], keepdims=0), n("Mul", ["s", "s"], ["y"])],
     {"x": f32(2, 3)})
case("resize_cubic", [n("Resize", ["x", "", "s"], ["y"], mode="cubic")], {"x": x},
     [("s", np.array([1, 1, 1.5, 2], np.float32))])
case("pad_reflect", [n("Pad", ["x", "p"], ["y"], mode="reflect")], {"x": x},
     [("p", i64(0, 0, 1, 2, 0, 0, 2, 1))])
case("quantize", [n("QuantizeLinear", ["x", "s", "z"], ["q"], axis=1),
                  n("DequantizeLinear", ["q", "s", "z"], ["y"], axis=1)], {"x": x},
     [("s", np.array([.1, .05, .2], np.float32)), ("z", np.array([128, 3, 7], np.uint8))],
     opset=19)
typed = {"FLOAT": [1.5, -2], "DOUBLE": [1.25, 3], "INT32": [-7, 9], "INT64": [1 << 40, -1],
         "UINT8": [200, 1], "INT8": [-100, 1], "BOOL": [1, 0], "FLOAT16": [0.5, -3],
         "UINT32": [1 << 31, 2], "UINT64": [1 << 40, 3], "INT16": [-300, 2], "UINT16": [60000, 1]}
for kind, values in typed.items():
    w = h.make_tensor("w", getattr(T, kind), [2], values)
    case("typed_" + kind.lower(), [n("Cast", ["w"], ["c"], to=T.DOUBLE), n("Add", ["c", "x"], ["y"])],
         {"x": np.zeros(2)}, [w])

case("grid_sample_volume", [n("GridSample", ["x", "g"], ["y"], mode="linear",
                              padding_mode="reflection")],
     {"x": f32(2, 3, 4, 3, 5), "g": 1.3 * f32(2, 2, 3, 4, 3)}, opset=20)
case("grid_sample_cubic", [n("GridSample", ["x", "g"], ["y"], mode="cubic", align_corners=1,
                             padding_mode="border")],
     {"x": f32(2, 3, 4, 5), "g": f32(2, 3, 4, 2)}, opset=20)
case("affine_grid", [n("AffineGrid", ["t", "s"], ["g"], align_corners=1),
                     n("GridSample", ["x", "g"], ["y"])],
     {"t": f32(2, 2, 3), "x": f32(2, 3, 4, 5)}, [("s", i64(2, 3, 3, 2))], opset=20)
case("col2im_steps", [n("Col2Im", ["x", "s", "k"], ["y"], strides=[2, 1], dilations=[1, 2],
                        pads=[1, 0, 0, 1])], {"x": f32(2, 12, 9)},
     [("s", i64(6, 6)), ("k", i64(2, 3))], opset=18)
case("deform_conv", [n("DeformConv", ["x", "w", "o", "b", "m"], ["y"], strides=[2, 1],
                       dilations=[1, 2], group=2, offset_group=2)],
     {"x": np.abs(f32(2, 4, 5, 6)), "o": f32(2, 16, 2, 4), "m": np.abs(f32(2, 8, 2, 4))},
     [("w", np.abs(f32(6, 2, 2, 2))), ("b", np.abs(f32(6)))], opset=19)
case("dft_long", [n("DFT", ["x", "l"], ["y"], axis=1)], {"x": f32(2, 7, 3, 2)}, [("l", i64(9)[0])])
case("dft_inverse_cut", [n("DFT", ["x", "l"], ["y"], axis=2, inverse=1)], {"x": f32(2, 3, 8, 2)},
     [("l", i64(6)[0])])
case("stft_onesided", [n("STFT", ["x", "s", "w"], ["y"])], {"x": f32(2, 40, 1)},
     [("s", i64(5)[0]), ("w", np.abs(f32(9)))])
case("pool_indices", [n("MaxPool", ["x"], ["y", "i"], kernel_shape=[3, 2], strides=[2, 2],
                        pads=[1, 0, 1, 0])], {"x": f32(2, 3, 7, 8)}, outs=("y", "i"))
case("unpool", [n("MaxPool", ["x"], ["p", "i"], kernel_shape=[2, 2], strides=[2, 2]),
                n("MaxUnpool", ["p", "i"], ["y"], kernel_shape=[2, 2], strides=[2, 2])],
     {"x": f32(2, 3, 6, 8)})
case("non_max_suppression",
     [n("NonMaxSuppression", ["b", "s", "n", "i", "t"], ["y"])],
     {"b": rng.random((2, 20, 4)).astype(np.float32), "s": f32(2, 3, 20)},
     [("n", i64(6)), ("i", np.array([.3], np.float32)), ("t", np.array([-1], np.float32))])
case("unique_axis", [n("Unique", ["x"], ["y", "f", "p", "c"], axis=1)],
     {"x": rng.integers(0, 2, (2, 9, 2))}, outs=("y", "f", "p", "c"))
case("nonzero", [n("NonZero", ["x"], ["y"])], {"x": rng.integers(0, 2, (3, 4, 2))})
case("roi_align", [n("RoiAlign", ["x", "r", "b"], ["y"], output_height=3, output_width=2,
                     sampling_ratio=2, spatial_scale=.5)],
     {"x": x, "r": np.array([[0, 0, 8, 9], [1, 2, 5, 11]], np.float32), "b": i64(1, 0)})
case("mel_weights", [n("MelWeightMatrix", ["m", "l", "r", "a", "b"], ["w"]),
                     n("MatMul", ["x", "w"], ["y"])], {"x": f32(3, 33)},
     [("m", i64(8)[0]), ("l", i64(64)[0]), ("r", i64(16000)[0]), ("a", np.float32(100)),
      ("b", np.float32(7000))])
case("ngrams", [n("TfIdfVectorizer", ["x"], ["y"], mode="TFIDF", min_gram_length=1,
                  max_gram_length=2, max_skip_count=2, ngram_counts=[0, 3],
                  ngram_indexes=[0, 4, 2, 1, 3], pool_int64s=[1, 2, 3, 1, 2, 3, 1],
                  weights=[.5, 2., 3., .25, 1.5])], {"x": rng.integers(0, 4, (3, 12))})
train = "ai.onnx.preview.training"
case("adam", [n("Adam", ["r", "t", "a", "b", "ga", "gb", "va", "vb", "ha", "hb"],
                ["y", "z", "v", "w", "h", "i"], domain=train, alpha=.8, beta=.9,
                norm_coefficient=.01, norm_coefficient_post=.02, epsilon=1e-4)],
     {"a": f32(3), "b": f32(2, 2), "ga": f32(3), "gb": f32(2, 2), "va": f32(3), "vb": f32(2, 2),
      "ha": np.abs(f32(3)), "hb": np.abs(f32(2, 2))},
     [("r", np.float32(.1)), ("t", i64(3)[0])], outs=("y", "z", "v", "w", "h", "i"),
     domains=((train, 1),))
case("momentum", [n("Momentum", ["r", "t", "x", "g", "v"], ["y", "z"], domain=train, alpha=.8,
                    beta=.5, mode="nesterov", norm_coefficient=.01)],
     {"t": i64(1)[0], "x": f32(3), "g": f32(3), "v": f32(3)}, [("r", np.float32(.1))],
     outs=("y", "z"), domains=((train, 1),))
case("features", [n("ArrayFeatureExtractor", ["x", "i"], ["e"], domain="ai.onnx.ml"),
                  n("Binarizer", ["e"], ["y"], domain="ai.onnx.ml", threshold=.1)],
     {"x": f32(3, 5), "i": i64(4, 0)}, domains=(("ai.onnx.ml", 3),))


def body(ins, nodes, outs):
    return h.make_graph(nodes, "body", [h.make_tensor_value_info(i, t, s) for i, t, s in ins],
                        [h.make_empty_tensor_value_info(o) for o in outs])


step = [("i", T.INT64, []), ("go", T.BOOL, []), ("s", T.FLOAT, [2, 3])]
case("loop_state", [n("Loop", ["n", "t", "x"], ["y"],
                      body=body(step, [n("Identity", ["go"], ["more"]), n("Tanh", ["s"], ["t"]),
                                       n("MatMul", ["t", "w"], ["o"])], ["more", "o"]))],
     {"x": f32(2, 3)}, [("n", i64(4)[0]), ("t", np.array(True)), ("w", f32(3, 3))])
case("loop_slices", [n("Loop", ["n", "t", "x"], ["y"],
                       body=body(step[:2] + [("s", T.FLOAT, [2])],
                                 [n("Identity", ["go"], ["more"]), n("Gather", ["w", "i"], ["g"]),
                                  n("Unsqueeze", ["i", "z"], ["b"]), n("Add", ["b", "two"], ["e"]),
                                  n("Slice", ["w", "b", "e"], ["c"]),
                                  n("ReduceMean", ["c"], ["a"], axes=[0], keepdims=0),
                                  n("Add", ["s", "g"], ["p"]), n("Mul", ["p", "a"], ["o"])],
                                 ["more", "o"]))],
     {"x": f32(2)}, [("n", i64(3)[0]), ("t", np.array(True)), ("w", f32(5, 2)), ("z", i64(0)),
                     ("two", i64(2))])
for kind in ("add", "mul", "max", "min"):
    case("scatter_" + kind, [n("ScatterND", ["x", "i", "u"], ["y"], reduction=kind)],
         {"x": f32(4, 3), "i": rng.integers(0, 4, (5, 1)), "u": f32(5, 3)}, opset=18)
case("bits", [n("BitwiseAnd", ["a", "b"], ["c"]), n("BitwiseNot", ["c"], ["d"]),
              n("BitwiseXor", ["d", "a"], ["y"])],
     {"a": rng.integers(-99, 99, (2, 3)), "b": rng.integers(-99, 99, (3,))}, opset=18)
case("roi_align_max", [n("RoiAlign", ["x", "r", "b"], ["y"], output_height=3, output_width=2,
                         sampling_ratio=2, mode="max")],
     {"x": x, "r": np.array([[0, 0, 4, 5], [-3, 2, 3, 7]], np.float32), "b": i64(1, 0)})
tensor = lambda kind, *v: h.make_tensor("t", kind, [len(v)], v)
nan = float("nan")
case("trees", [n("TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", aggregate_function=1, n_targets=3,
                 post_transform=0, nodes_featureids=[0, 2, 1, 0], nodes_truenodeids=[1, 0, 1, 3],
                 nodes_falsenodeids=[2, 2, 4, 5], nodes_trueleafs=[0, 1, 1, 1],
                 nodes_falseleafs=[0, 1, 1, 1], leaf_targetids=[0, 2, 1, 1, 0, 2], tree_roots=[0, 3],
                 nodes_modes=tensor(T.UINT8, 0, 6, 3, 6),
                 nodes_splits=tensor(T.FLOAT, .5, 0, -.25, 0),
                 membership_values=tensor(T.FLOAT, 1, 2, nan, 3, nan),
                 leaf_weights=tensor(T.FLOAT, 1, 2, 4, 8, 16, 32))],
     {"x": rng.integers(-1, 4, (12, 3)).astype(np.float32)}, domains=(("ai.onnx.ml", 5),))
