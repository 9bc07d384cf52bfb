package onnx_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
)

// grove is an ensemble in the form of TreeEnsembleRegressor while a test makes it.
type grove struct {
	trees, ids, features, yes, no, missing []int
	modes                                  []string
	values                                 []float64
	targetTrees, targetNodes, targets      []int
	weights                                []float64
}

// grow adds a random tree below a node and returns its number in the tree.
func (g *grove) grow(r *rand.Rand, tree, depth, targets int) int {
	first := 0
	for first < len(g.trees) && g.trees[first] != tree {
		first++
	}
	id, at := len(g.trees)-first, len(g.trees)
	g.trees, g.ids = append(g.trees, tree), append(g.ids, id)
	g.features, g.missing = append(g.features, r.IntN(3)), append(g.missing, r.IntN(2))
	g.values = append(g.values, float64(r.IntN(5)))
	g.yes, g.no = append(g.yes, 0), append(g.no, 0)
	modes := []string{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ",
		"BRANCH_NEQ"}
	g.modes = append(g.modes, modes[r.IntN(6)])
	if depth == 0 || depth < 3 && r.IntN(3) == 0 {
		g.modes[at] = "LEAF"
		for range 1 + r.IntN(2) {
			g.targetTrees, g.targetNodes = append(g.targetTrees, tree), append(g.targetNodes, id)
			g.targets = append(g.targets, r.IntN(targets))
			g.weights = append(g.weights, float64(r.IntN(16)))
		}
		return id
	}
	g.yes[at] = g.grow(r, tree, depth-1, targets)
	g.no[at] = g.grow(r, tree, depth-1, targets)
	return id
}

// leaf walks a tree for a row of features and returns the number of the leaf in the tree.
func (g *grove) leaf(tree int, x []float32) int {
	first := 0
	for g.trees[first] != tree {
		first++
	}
	at := first
	for g.modes[at] != "LEAF" {
		v, s := float64(x[g.features[at]]), g.values[at]
		hold := map[string]bool{"BRANCH_LEQ": v <= s, "BRANCH_LT": v < s, "BRANCH_GTE": v >= s,
			"BRANCH_GT": v > s, "BRANCH_EQ": v == s, "BRANCH_NEQ": v != s}[g.modes[at]]
		if hold || math.IsNaN(v) && g.missing[at] == 1 {
			at = first + g.yes[at]
		} else {
			at = first + g.no[at]
		}
	}
	return at - first
}

// TestTreeEnsembleRegressor compares random ensembles with a walk.
func TestTreeEnsembleRegressor(t *testing.T) {
	const targets, count, rows = 3, 4, 40
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 61))
		g := &grove{}
		for tree := range count {
			g.grow(r, tree, 4, targets)
		}
		x := make([]float32, rows*3)
		for i := range x {
			if x[i] = float32(r.IntN(6)); x[i] == 5 {
				x[i] = float32(math.NaN())
			}
		}
		aggregate := []string{"SUM", "AVERAGE", "MIN", "MAX"}[seed%4]
		b := built{opset: 17, outs: []string{"y"}, inputs: map[string]*nd.Array{
			"x": nd.FromSlice(x, rows, 3)}, nodes: []*onnxpb.NodeProto{node(t, "ai.onnx.ml",
			"TreeEnsembleRegressor", []string{"x"}, []string{"y"}, attrs{
				"nodes_treeids": g.trees, "nodes_nodeids": g.ids, "nodes_featureids": g.features,
				"nodes_modes": g.modes, "nodes_values": g.values, "nodes_truenodeids": g.yes,
				"nodes_falsenodeids": g.no, "nodes_missing_value_tracks_true": g.missing,
				"target_treeids": g.targetTrees, "target_nodeids": g.targetNodes,
				"target_ids": g.targets, "target_weights": g.weights, "n_targets": targets,
				"aggregate_function": aggregate, "base_values": []float64{1, 2, 3}})}}
		want := make([]float64, rows*targets)
		for row := range rows {
			for target := range targets {
				var list []float64
				for tree := range count {
					leaf, sum, any := g.leaf(tree, x[row*3:row*3+3]), 0.0, false
					for i, w := range g.weights {
						if g.targetTrees[i] == tree && g.targetNodes[i] == leaf &&
							g.targets[i] == target {
							sum, any = sum+w, true
						}
					}
					if any {
						list = append(list, sum)
					}
				}
				want[row*targets+target] = joinList(aggregate, list, count) + float64(target+1)
			}
		}
		near(t, aggregate, b.run(t)[0], want)
	}
}

// joinList joins the weights of the leaves that have one for a target.
func joinList(aggregate string, list []float64, trees int) float64 {
	y := 0.0
	for i, w := range list {
		switch {
		case aggregate == "SUM":
			y += w
		case aggregate == "AVERAGE":
			y += w / float64(trees)
		case i == 0 || aggregate == "MIN" && w < y || aggregate == "MAX" && w > y:
			y = w
		}
	}
	return y
}

// TestTreesWithoutEnd demands an error for nodes that lead to each other.
func TestTreesWithoutEnd(t *testing.T) {
	b := built{opset: 17, outs: []string{"y"}, inputs: map[string]*nd.Array{
		"x": nd.FromSlice([]float32{1}, 1, 1)}, nodes: []*onnxpb.NodeProto{node(t, "ai.onnx.ml",
		"TreeEnsembleRegressor", []string{"x"}, []string{"y"}, attrs{"nodes_treeids": []int{0, 0},
			"nodes_nodeids": []int{0, 1}, "nodes_featureids": []int{0, 0},
			"nodes_modes":  []string{"BRANCH_LEQ", "BRANCH_LEQ"},
			"nodes_values": []float64{1, 2}, "nodes_truenodeids": []int{1, 0},
			"nodes_falsenodeids": []int{1, 0}, "n_targets": 1})}}
	if _, err := b.load(t); err == nil {
		t.Error("a way without an end passes")
	}
}
