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
		chooseRows, trainRows, learnRows, contribRows, contribQuantRows} {
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
