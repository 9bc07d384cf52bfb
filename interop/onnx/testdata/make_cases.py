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


def case(name, nodes, inputs, weights=(), opset=17, outs=("y",), open_dims=False):
    """Stores one case; open_dims names the extents of the inputs instead of giving them."""
    info = [h.make_tensor_value_info(n, h.np_dtype_to_tensor_dtype(a.dtype),
                                     [f"{n}{i}" for i in range(a.ndim)] if open_dims else a.shape)
            for n, a in inputs.items()]
    init = [w if isinstance(w, T) else nph.from_array(w[1], w[0]) for w in weights]
    g = h.make_graph(nodes, name, info, [h.make_empty_tensor_value_info(o) for o in outs], init)
    m = h.make_model(g, opset_imports=[h.make_opsetid("", opset)], ir_version=9)
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
