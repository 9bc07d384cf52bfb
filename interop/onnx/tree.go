package onnx

import (
	"fmt"
	"math"
	"slices"

	"gomx/dtype"
	"gomx/interop/onnx/internal/file"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// treeRows are ensembles of decision trees.
var treeRows = map[string]row{
	"ai.onnx.ml:TreeEnsemble":          {1, trees},
	"ai.onnx.ml:TreeEnsembleRegressor": {1, treeRegressor},
}

// The comparisons of a node with its split; member is that with a list of numbers.
const (
	atMostSplit = iota
	belowSplit
	atLeastSplit
	aboveSplit
	equalSplit
	otherSplit
	member
)

// forest has the nodes of all trees. A node is a comparison of a feature, or a leaf, whose
// successors are itself.
type forest struct {
	feature, mode []int
	split         []float64
	members       [][]float64 // by node; nil but for mode member
	missing       []int       // 1: NaN takes the branch of a comparison that holds
	yes, no       []int       // successors
	roots         []int
	leaf          [][]float64 // by node: a weight for each target; nil: a comparison
	hit           [][]bool    // by node: targets that the leaf has a weight for
	targets       int
}

// depth returns the greatest number of comparisons on a way from a root to a leaf. It reports nodes
// that do not exist, and ways without an end.
func (f *forest) depth() (int, error) {
	const open = -1
	known := map[int]int{}
	var visit func(i, level int) (int, error)
	visit = func(i, level int) (int, error) {
		switch d, ok := known[i]; {
		case i < 0 || i >= len(f.feature):
			return 0, fmt.Errorf("node %d of %d", i, len(f.feature))
		case ok && d == open || level > 1<<10:
			return 0, fmt.Errorf("node %d lies on a way without an end, or of more than %d nodes", i,
				1<<10)
		case ok:
			return d, nil
		case f.leaf[i] != nil:
			return 0, nil
		}
		known[i] = open
		deepest := 0
		for _, next := range []int{f.yes[i], f.no[i]} {
			d, err := visit(next, level+1)
			if err != nil {
				return 0, err
			}
			deepest = max(deepest, d+1)
		}
		known[i] = deepest
		return deepest, nil
	}
	deepest := 0
	for _, r := range f.roots {
		d, err := visit(r, 0)
		if err != nil {
			return 0, err
		}
		deepest = max(deepest, d)
	}
	return deepest, nil
}

// add appends a leaf without weights and returns its number.
func (f *forest) add() int {
	i := len(f.feature)
	f.feature, f.mode, f.split = append(f.feature, 0), append(f.mode, 0), append(f.split, 0)
	f.members, f.missing = append(f.members, nil), append(f.missing, 0)
	f.yes, f.no = append(f.yes, i), append(f.no, i)
	f.leaf = append(f.leaf, make([]float64, f.targets))
	f.hit = append(f.hit, make([]bool, f.targets))
	return i
}

// predict walks all trees for all rows of the first input, step by step, and joins the weights of
// the leaves. The shape of the result is (rows, targets).
func (f *forest) predict(c *call, aggregate string) *sym.Symbol {
	v, n := c.in[0], len(f.feature)
	depth, err := f.depth()
	rank := v.rank()
	if err != nil || rank < 1 || rank > 2 || !v.typ.IsFloat() || len(f.roots) == 0 {
		c.fail("data of shape %v and type %v for %d trees (%v), want (rows, features) of floats",
			v.shape, v.typ, len(f.roots), err)
		return c.x(0)
	}
	rows, features := v.size()/max(1, v.shape[rank-1]), v.shape[rank-1]
	for _, i := range f.feature {
		if i < 0 || i >= features {
			c.fail("feature %d of data of shape %v", i, v.shape)
			return c.x(0)
		}
	}
	if !c.spend(n * (64 + 8*f.targets)) {
		return c.x(0)
	}
	base := make([]int, rows)
	for i := range base {
		base[i] = i * features
	}
	flat, first := c.reshape(c.x(0), dtype.Shape{v.size()}), c.indices(base, rows, 1)
	look := func(table, at *sym.Symbol) *sym.Symbol { return sym.Take(table, at, sym.TakeParams{}) }
	feature, split := c.indices(f.feature), c.numbers(v.typ, f.split)
	yes, no := c.indices(f.yes), c.indices(f.no)
	at := c.expand(c.indices(f.roots, 1, len(f.roots)), dtype.Shape{rows, len(f.roots)})
	for range depth {
		x := look(flat, sym.BroadcastAdd(look(feature, at), first))
		at = sym.Where(f.holds(c, x, look(split, at), at), look(yes, at), look(no, at))
	}
	return f.join(c, at, aggregate)
}

// holds compares features with the splits of nodes: 1 where the comparison holds.
func (f *forest) holds(c *call, x, split, at *sym.Symbol) *sym.Symbol {
	typ := c.in[0].typ
	pick := func(list []int) *sym.Symbol {
		real := make([]float64, len(list))
		for i, v := range list {
			real[i] = float64(v)
		}
		return sym.Take(c.numbers(typ, real), at, sym.TakeParams{})
	}
	compare := []func(a, b *sym.Symbol, opts ...sym.Option) *sym.Symbol{sym.LesserEqual, sym.Lesser,
		sym.GreaterEqual, sym.Greater, sym.Equal, sym.NotEqual}
	var all *sym.Symbol
	for m := range member + 1 {
		if !slices.Contains(f.mode, m) {
			continue
		}
		var s *sym.Symbol
		if m == member {
			s = f.belongs(c, x, at)
		} else {
			s = compare[m](x, split)
		}
		s = sym.ElemwiseMul(s, sym.EqualScalar(pick(f.mode), sym.ScalarParams{Scalar: float64(m)}))
		if all == nil {
			all = s
		} else {
			all = sym.ElemwiseAdd(all, s)
		}
	}
	if slices.Contains(f.missing, 1) {
		all = sym.BroadcastMaximum(all, sym.ElemwiseMul(sym.NotEqual(x, x), pick(f.missing)))
	}
	return all
}

// belongs reports whether features are in the lists of nodes.
func (f *forest) belongs(c *call, x, at *sym.Symbol) *sym.Symbol {
	longest := 1
	for _, list := range f.members {
		longest = max(longest, len(list))
	}
	if !c.spend(8 * longest * len(f.members)) {
		return x
	}
	table := make([]float64, 0, longest*len(f.members))
	for _, list := range f.members {
		for i := range longest {
			if i < len(list) {
				table = append(table, list[i])
			} else {
				table = append(table, math.NaN())
			}
		}
	}
	lists := sym.Take(c.numbers(c.in[0].typ, table, len(f.members), longest), at, sym.TakeParams{})
	shape := append(c.shapeOf(x).Clone(), 1)
	return sym.Max(sym.BroadcastEqual(lists, c.reshape(x, shape)), sym.ReduceParams{Axis: []int{2}})
}

// join sums the weights of the leaves at which the trees end, or takes their mean or an extreme one
// among the leaves that have a weight for a target; without one the result is 0.
func (f *forest) join(c *call, at *sym.Symbol, aggregate string) *sym.Symbol {
	none := 0.0
	switch aggregate {
	case "MIN":
		none = math.Inf(1)
	case "MAX":
		none = math.Inf(-1)
	}
	table := make([]float64, 0, len(f.leaf)*f.targets)
	for i, weights := range f.leaf {
		for t := range f.targets {
			w := none
			if weights != nil && f.hit[i][t] {
				w = weights[t]
			}
			table = append(table, w)
		}
	}
	s := sym.Take(c.numbers(c.in[0].typ, table, len(f.leaf), f.targets), at, sym.TakeParams{})
	p := sym.ReduceParams{Axis: []int{1}}
	switch aggregate {
	case "SUM":
		return sym.Sum(s, p)
	case "AVERAGE":
		return sym.Mean(s, p)
	case "MIN":
		s = sym.Min(s, p)
	case "MAX":
		s = sym.Max(s, p)
	default:
		c.fail("aggregate_function %q, want SUM, AVERAGE, MIN or MAX", aggregate)
		return c.x(0)
	}
	return sym.Where(sym.EqualScalar(s, sym.ScalarParams{Scalar: none}), sym.ZerosLike(s), s)
}

// transformed applies a transformation of scores.
func transformed(c *call, s *sym.Symbol, name string) *sym.Symbol {
	switch name {
	case "NONE":
		return s
	case "SOFTMAX":
		return sym.Softmax(s, sym.SoftmaxParams{Axis: sym.Some(1)})
	case "LOGISTIC":
		return sym.Sigmoid(s)
	}
	c.fail("post_transform %s, want NONE, SOFTMAX or LOGISTIC", name)
	return s
}

// reals64 returns the numbers of an attribute that is a tensor.
func reals64(c *call, name string) []float64 {
	t := c.attr[name].GetT()
	if t == nil {
		return nil
	}
	a, _, err := file.Array(t, c.im.root)
	if err == nil {
		var list []float64
		if list, err = nd.Values[float64](nd.Cast(a, nd.CastParams{DType: dtype.Float64})); err == nil {
			return list
		}
	}
	c.fail("attribute %q: %w", name, err)
	return nil
}

// trees reads an ensemble whose leaves are apart from its comparisons.
func trees(c *call) []*sym.Symbol {
	f := &forest{feature: c.nums("nodes_featureids"), yes: c.nums("nodes_truenodeids"),
		no: c.nums("nodes_falsenodeids"), roots: c.nums("tree_roots"),
		targets: c.num("n_targets", 1), missing: c.nums("nodes_missing_value_tracks_true"),
		split: reals64(c, "nodes_splits")}
	for _, m := range reals64(c, "nodes_modes") {
		f.mode = append(f.mode, int(m))
	}
	f.successors(c)
	f.leaves(c)
	f.lists(c)
	aggregate := []string{"AVERAGE", "SUM", "MIN", "MAX"}
	post := []string{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"}
	a, p := c.num("aggregate_function", 1), c.num("post_transform", 0)
	if c.err != nil || a < 0 || a >= len(aggregate) || p < 0 || p >= len(post) {
		return c.fail("aggregate_function %d and post_transform %d", a, p)
	}
	return out(transformed(c, f.predict(c, aggregate[a]), post[p]))
}

// successors checks the attributes of comparisons; leaves follow the comparisons in number.
func (f *forest) successors(c *call) {
	n := len(f.feature)
	yesLeaf, noLeaf := c.nums("nodes_trueleafs"), c.nums("nodes_falseleafs")
	if f.missing == nil {
		f.missing = make([]int, n)
	}
	for _, k := range []int{len(f.yes), len(f.no), len(f.missing), len(f.split), len(f.mode),
		len(yesLeaf), len(noLeaf)} {
		if k != n {
			c.fail("attributes of nodes with %d and %d elements, want the same number", n, k)
			return
		}
	}
	f.members, f.leaf, f.hit = make([][]float64, n), make([][]float64, n), make([][]bool, n)
	for i := range n {
		if yesLeaf[i] != 0 {
			f.yes[i] += n
		}
		if noLeaf[i] != 0 {
			f.no[i] += n
		}
	}
}

// leaves adds a leaf for each target in the attributes of leaves.
func (f *forest) leaves(c *call) {
	targets, weights := c.nums("leaf_targetids"), reals64(c, "leaf_weights")
	if len(targets) != len(weights) || f.targets < 1 || f.targets > 1<<20 ||
		!c.spend((len(f.feature)+len(weights))*f.targets*9) {
		c.fail("%d targets of leaves, %d weights and n_targets %d", len(targets), len(weights),
			f.targets)
		return
	}
	for i, t := range targets {
		if t < 0 || t >= f.targets {
			c.fail("target %d of %d", t, f.targets)
			return
		}
		k := f.add()
		f.leaf[k][t], f.hit[k][t] = weights[i], true
	}
}

// lists reads the lists of the comparisons with a list, which NaN separates.
func (f *forest) lists(c *call) {
	lists := reals64(c, "membership_values")
	for i, m := range f.mode {
		switch end := slices.IndexFunc(lists, math.IsNaN); {
		case m < 0 || m > member:
			c.fail("mode %d of node %d", m, i)
		case m == member && end < 0:
			c.fail("no membership_values for node %d", i)
		case m == member && c.err == nil:
			f.members[i], lists = lists[:end], lists[end+1:]
		}
	}
}

// listed64 returns an attribute of floats, or that of the same name with _as_tensor.
func listed64(c *call, name string) []float64 {
	if list := c.floats(name); list != nil {
		return list
	}
	return reals64(c, name+"_as_tensor")
}

// treeRegressor reads an ensemble whose nodes are named by their tree and their number in it.
func treeRegressor(c *call) []*sym.Symbol {
	f := &forest{targets: c.num("n_targets", 1)}
	at := f.named(c)
	if c.err != nil {
		return nil
	}
	f.weigh(c, at)
	s := f.predict(c, c.text("aggregate_function", "SUM"))
	if base := listed64(c, "base_values"); base != nil {
		if len(base) != f.targets {
			return c.fail("%d base_values, want %d", len(base), f.targets)
		}
		s = sym.BroadcastAdd(s, c.numbers(c.in[0].typ, base, 1, f.targets))
	}
	return out(transformed(c, cast(s, dtype.Float32), c.text("post_transform", "NONE")))
}

// place names a node: its tree and its number in the tree.
type place struct{ tree, node int }

// named reads the nodes and returns them by their names. The first node of a tree is its root.
func (f *forest) named(c *call) map[place]int {
	tree, id := c.nums("nodes_treeids"), c.nums("nodes_nodeids")
	features, modes := c.nums("nodes_featureids"), c.texts("nodes_modes")
	values, missing := listed64(c, "nodes_values"), c.nums("nodes_missing_value_tracks_true")
	yes, no := c.nums("nodes_truenodeids"), c.nums("nodes_falsenodeids")
	n := len(tree)
	if missing == nil {
		missing = make([]int, n)
	}
	for _, k := range []int{len(id), len(features), len(modes), len(values), len(yes), len(no),
		len(missing)} {
		if k != n {
			c.fail("attributes of nodes with %d and %d elements, want the same number", n, k)
			return nil
		}
	}
	if f.targets < 1 || f.targets > 1<<20 || !c.spend(n*f.targets*9) {
		c.fail("n_targets %d for %d nodes is out of bounds", f.targets, n)
		return nil
	}
	at := map[place]int{}
	for i := range n {
		at[place{tree[i], id[i]}] = f.add()
		if i == 0 || tree[i] != tree[i-1] {
			f.roots = append(f.roots, i)
		}
	}
	codes := map[string]int{"BRANCH_LEQ": atMostSplit, "BRANCH_LT": belowSplit,
		"BRANCH_GTE": atLeastSplit, "BRANCH_GT": aboveSplit, "BRANCH_EQ": equalSplit,
		"BRANCH_NEQ": otherSplit}
	for i, name := range modes {
		mode, ok := codes[name]
		switch {
		case name == "LEAF":
			continue
		case !ok:
			c.fail("mode %q of node %d", name, i)
			return nil
		}
		a, okA := at[place{tree[i], yes[i]}]
		b, okB := at[place{tree[i], no[i]}]
		if !okA || !okB {
			c.fail("node %d of tree %d leads to a node that does not exist", id[i], tree[i])
			return nil
		}
		f.feature[i], f.mode[i], f.split[i], f.missing[i] = features[i], mode, values[i], missing[i]
		f.yes[i], f.no[i], f.leaf[i] = a, b, nil
	}
	return at
}

// weigh gives the leaves their weights by target.
func (f *forest) weigh(c *call, at map[place]int) {
	trees, nodes, ids := c.nums("target_treeids"), c.nums("target_nodeids"), c.nums("target_ids")
	weights := listed64(c, "target_weights")
	if len(trees) != len(weights) || len(nodes) != len(weights) || len(ids) != len(weights) {
		c.fail("attributes of targets of different lengths")
		return
	}
	for i, w := range weights {
		k, ok := at[place{trees[i], nodes[i]}]
		if !ok || f.leaf[k] == nil || ids[i] < 0 || ids[i] >= f.targets {
			c.fail("target %d of node %d of tree %d, want a leaf and one of %d targets", ids[i],
				nodes[i], trees[i], f.targets)
			return
		}
		f.leaf[k][ids[i]] += w
		f.hit[k][ids[i]] = true
	}
}
