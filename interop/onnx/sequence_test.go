package onnx_test

import (
	"testing"

	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
)

// TestSequences splits an array, changes the list of its parts, and joins them.
func TestSequences(t *testing.T) {
	half := graph([]string{"e", "k"}, []string{"h"}, plain(t, "Mul", []string{"e", "k"}, "h"))
	b := built{opset: 17, outs: []string{"y", "z", "n"}, fixed: []string{"two", "zero", "parts"},
		inputs: map[string]*nd.Array{"x": nd.FromSlice([]float32{1, 2, 3, 4, 5}),
			"two": nd.FromSlice([]int64{2}, 1), "zero": nd.FromSlice([]int64{0}, 1),
			"k": nd.FromSlice([]float32{10}), "parts": nd.FromSlice([]int64{2, 3})},
		nodes: []*onnxpb.NodeProto{
			node(t, "", "SplitToSequence", []string{"x"}, []string{"s"}, attrs{"keepdims": 1}),
			plain(t, "SequenceErase", []string{"s"}, "s4"),
			plain(t, "SequenceAt", []string{"s4", "two"}, "third"),
			plain(t, "SequenceInsert", []string{"s4", "third", "zero"}, "s5"),
			plain(t, "Identity", []string{"s5"}, "same"),
			node(t, "", "SequenceMap", []string{"same", "k"}, []string{"tens"},
				attrs{"body": half}),
			node(t, "", "ConcatFromSequence", []string{"tens"}, []string{"y"}, attrs{"axis": 0}),
			plain(t, "SequenceLength", []string{"tens"}, "n"),
			plain(t, "SplitToSequence", []string{"x", "parts"}, "p"),
			plain(t, "SequenceErase", []string{"p", "zero"}, "q"),
			plain(t, "SequenceConstruct", []string{"third", "third"}, "pair"),
			node(t, "", "ConcatFromSequence", []string{"pair"}, []string{"rows"},
				attrs{"axis": 0, "new_axis": 1}),
			node(t, "", "ConcatFromSequence", []string{"q"}, []string{"rest"}, attrs{"axis": 0}),
			plain(t, "Add", []string{"rows", "rest"}, "z")}}
	got := b.run(t)
	near(t, "joined", got[0], []float64{30, 10, 20, 30, 40})
	near(t, "sum", got[1], []float64{6, 7, 8, 6, 7, 8})
	near(t, "length", got[2], []float64{5})
}

// TestSequenceInLoop collects the states of a loop in a sequence.
func TestSequenceInLoop(t *testing.T) {
	g := graph([]string{"i", "go", "v", "s"}, []string{"go", "next", "longer"},
		plain(t, "Add", []string{"v", "v"}, "next"),
		plain(t, "SequenceInsert", []string{"s", "next"}, "longer"))
	b := built{opset: 17, outs: []string{"y"}, fixed: []string{"n"},
		inputs: map[string]*nd.Array{"n": nd.FromSlice([]int64{3}, 1),
			"x": nd.FromSlice([]float32{1, 5})},
		nodes: []*onnxpb.NodeProto{plain(t, "SequenceEmpty", nil, "none"),
			node(t, "", "Loop", []string{"n", "", "x", "none"}, []string{"last", "all"},
				attrs{"body": g}),
			node(t, "", "ConcatFromSequence", []string{"all"}, []string{"y"},
				attrs{"axis": 0, "new_axis": 1})}}
	near(t, "states", b.run(t)[0], []float64{2, 10, 4, 20, 8, 40})
	b.nodes[2] = plain(t, "Neg", []string{"all"}, "y")
	if _, err := b.load(t); err == nil {
		t.Error("a function of elements takes a sequence")
	}
}
