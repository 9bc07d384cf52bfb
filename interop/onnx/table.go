package onnx

import (
	"fmt"
	"maps"
	"slices"
)

// table has the operators that are imported, under qualified names. It is filled at start-up and
// does not change.
var table = map[string]row{}

func init() {
	for _, family := range []map[string]row{mathRows, activationRows, compareRows, matrixRows,
		shapeRows, moveRows, indexRows, convRows, poolRows, normRows, reduceRows, resizeRows,
		quantRows, lossRows, makeRows, rnnRows, controlRows, sampleRows, signalRows,
		chooseRows, trainRows, learnRows, contribRows, contribQuantRows,
		treeRows, randomRows, sequenceRows} {
		for name, r := range family {
			if _, ok := table[name]; ok {
				panic(fmt.Sprintf("onnx: two rows for operator %s", name))
			}
			table[name] = r
		}
	}
}

// Operators lists the operators that are imported; other domains have the form domain:name.
func Operators() []string { return slices.Sorted(maps.Keys(table)) }

// early lists the operators whose form in the operator sets 1 to 6 is read too. It does not differ
// from the later ones, but for an axis of the second operand of arithmetic.
var early = []string{"Abs", "Add", "ArgMax", "ArgMin", "AveragePool", "Ceil", "Clip", "Concat",
	"Constant", "Conv", "ConvTranspose", "DepthToSpace", "Div", "Dropout", "Elu", "Exp", "Flatten",
	"Floor", "Gather", "GlobalAveragePool", "GlobalMaxPool", "HardSigmoid", "Hardmax", "Identity",
	"InstanceNormalization", "LRN", "LeakyRelu", "Log", "LogSoftmax", "MatMul", "Max", "MaxPool",
	"Mean", "Min", "Mul", "Neg", "Not", "Reciprocal", "ReduceL1", "ReduceL2", "ReduceLogSum",
	"ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
	"ReduceSumSquare", "Relu", "Reshape", "Selu", "Shape", "Sigmoid", "Size", "Slice", "Softmax",
	"Softplus", "Softsign", "SpaceToDepth", "Split", "Sqrt", "Squeeze", "Sub", "Sum", "Tanh",
	"Transpose", "Unsqueeze"}
