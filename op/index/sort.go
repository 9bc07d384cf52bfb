package index

import (
	"cmp"
	"math"
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// SortParams are the parameters of Sort.
type SortParams struct {
	Axis    op.Opt[int] `op:"axis" default:"-1" doc:"axis along which to sort; None: the flattened array"`
	Descend bool        `op:"is_ascend,not" doc:"whether the smallest element comes first"`
}

// ArgSortParams are the parameters of ArgSort.
type ArgSortParams struct {
	Axis    op.Opt[int] `op:"axis" default:"-1" doc:"axis along which to sort; None: the flattened array"`
	Descend bool        `op:"is_ascend,not" doc:"whether the smallest element comes first"`
	DType   dtype.Type  `op:"dtype" doc:"element type of the indices"`
}

// TopKParams are the parameters of TopK.
type TopKParams struct {
	Axis     op.Opt[int] `op:"axis" default:"-1" doc:"axis along which to select; None: the flattened array"`
	K        op.Opt[int] `op:"k" default:"1" doc:"how many elements; zero: all"`
	RetTyp   string      `op:"ret_typ" default:"indices" enum:"value|indices|mask|both" doc:"what to return: the elements, their indices, both, or ones in their places"`
	IsAscend bool        `op:"is_ascend" doc:"select the smallest elements, not the largest"`
	DType    dtype.Type  `op:"dtype" doc:"element type of the indices"`
}

// The operators that order elements.
var (
	Sort     = op.Declare[SortParams]("sort")
	ArgSort  = op.Declare[ArgSortParams]("argsort")
	TopK     = op.Declare[TopKParams]("topk")
	topKGrad = op.Declare[TopKParams]("_backward_topk")
	// topKSelect picks the elements with the given indices: the gradient of topKGrad.
	topKSelect = op.Declare[TopKParams]("_select_topk")
)

func init() {
	Sort.Define(op.Spec[SortParams]{
		Traits: op.Traits{
			Doc: "Sort orders the elements along an axis, NaN behind the others; MXNet leaves " +
				"the order of NaN to its library. A second output, which composition does not " +
				"see, is where each came from.",
			Aliases: []string{"_npi_sort"},
		},
		Outputs: func(SortParams) []string { return []string{"output0", "output1"} },
		Visible: func(SortParams) int { return 1 },
		Infer: func(p SortParams, in, out []dtype.Shape) error {
			return inferTopK(p.topK(), in, out)
		},
		InferType: func(p SortParams, in, out []dtype.Type) error {
			return inferTopKType(p.topK(), in, out)
		},
		Grad: func(g *op.Grad, p SortParams) []op.Entry {
			return []op.Entry{topKGrad.Apply(p.topK(), g.Head(0), g.Out(1), g.In(0))}
		},
		Ref: func(p SortParams, c *op.Call) error { return topK(p.topK(), c) },
	})
	ArgSort.Define(op.Spec[ArgSortParams]{
		Traits: op.Traits{
			Doc:       "ArgSort is the indices that order the elements along an axis.",
			GoName:    "ArgSort",
			Aliases:   []string{"_npi_argsort"},
			Precision: op.Wide,
		},
		Infer: func(p ArgSortParams, in, out []dtype.Shape) error {
			return inferTopK(p.topK(), in, out)
		},
		InferType: func(p ArgSortParams, in, out []dtype.Type) error {
			return inferTopKType(p.topK(), in, out)
		},
		Grad: prim.ZeroGrad[ArgSortParams],
		Ref:  func(p ArgSortParams, c *op.Call) error { return topK(p.topK(), c) },
	})
	TopK.Define(op.Spec[TopKParams]{
		Traits: op.Traits{
			Doc: "TopK selects the k largest, or smallest, elements along an axis in order: " +
				"their indices (of element type dtype), their values, both, or a mask of ones in " +
				"their places.",
			GoName:    "TopK",
			Aliases:   []string{"_npx_topk"},
			Multi:     true,
			Precision: op.Wide,
		},
		Outputs: TopKParams.outputs,
		Visible: func(p TopKParams) int {
			return map[bool]int{true: 2, false: 1}[p.RetTyp == "both"]
		},
		Infer:     inferTopK,
		InferType: inferTopKType,
		Grad: func(g *op.Grad, p TopKParams) []op.Entry {
			if !p.values() {
				return []op.Entry{{}}
			}
			return []op.Entry{topKGrad.Apply(p, g.Head(0), g.Out(1), g.In(0))}
		},
		Ref: topK,
	})
	topKGrad.Define(op.Spec[TopKParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{2}},
		Inputs: prim.Inputs[TopKParams]("grad", "indices", "like"),
		Infer: func(p TopKParams, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in[2:], out); err != nil {
				return err
			}
			return inferTopK(p, in[2:], in[:2])
		},
		InferType: dataType[TopKParams](0),
		Grad: prim.Adjoint(func(g *op.Grad, p TopKParams, h op.Entry) op.Entry {
			return topKSelect.Apply(p, h, g.In(1))
		}),
		Ref: topKBackward,
	})
	topKSelect.Define(op.Spec[TopKParams]{
		Traits: op.Traits{Hidden: true},
		Inputs: prim.Inputs[TopKParams]("grad", "indices"),
		Infer: func(p TopKParams, in, out []dtype.Shape) error {
			pair := []dtype.Shape{out[0], in[1]}
			err := inferTopK(p, in[:1], pair)
			out[0], in[1] = pair[0], pair[1]
			return err
		},
		InferType: dataType[TopKParams](0),
		Grad: func(g *op.Grad, p TopKParams) []op.Entry {
			return []op.Entry{topKGrad.Apply(p, g.Head(0), g.In(1), g.In(0)), {}}
		},
		Ref: func(p TopKParams, c *op.Call) error {
			return selected(p, c.In[0].Shape, c.In[1],
				func(at, k int) { copyRun(c.Out[0], k, c.In[0], at, 1) })
		},
	})
}

func (p SortParams) topK() TopKParams {
	return TopKParams{Axis: p.Axis, K: op.Some(0), RetTyp: "both", IsAscend: !p.Descend,
		DType: dtype.Int32}
}

func (p ArgSortParams) topK() TopKParams {
	return TopKParams{Axis: p.Axis, K: op.Some(0), RetTyp: "indices", IsAscend: !p.Descend,
		DType: p.DType}
}

// values reports whether output 0 is elements and output 1 their indices.
func (p TopKParams) values() bool { return p.RetTyp == "value" || p.RetTyp == "both" }

func (p TopKParams) outputs() []string {
	if p.values() {
		return []string{"output0", "output1"}
	}
	return []string{"output"}
}

// take returns how many of n elements are selected.
func (p TopKParams) take(n int) int {
	if k := p.K.Value(); k > 0 && k < n {
		return k
	}
	return n
}

func inferTopK(p TopKParams, in, out []dtype.Shape) error {
	data := in[0]
	if data == nil {
		return nil
	}
	if p.RetTyp == "mask" {
		return op.SameShape(p, in, out)
	}
	axis, ok := p.Axis.Get()
	if !ok {
		want := dtype.Shape{-1}
		if n := data.Size(); n != -1 {
			want[0] = p.take(n)
		}
		return requireAll(out, want)
	}
	a, err := prim.Axis("axis", axis, len(data))
	if err != nil {
		return err
	}
	want := data.Clone()
	if want[a] != -1 {
		want[a] = p.take(want[a])
	}
	if err := requireAll(out, want); err != nil {
		return err
	}
	for i := range data {
		for _, s := range out {
			if i != a && s[i] != -1 {
				data[i] = s[i]
			}
		}
	}
	return nil
}

func requireAll(out []dtype.Shape, want dtype.Shape) error {
	for i := range out {
		if err := op.Require("output", &out[i], want); err != nil {
			return err
		}
	}
	return nil
}

func inferTopKType(p TopKParams, in, out []dtype.Type) error {
	switch {
	case p.RetTyp == "indices":
		return setType("output", &out[0], p.DType)
	case p.values():
		if err := setType("output1", &out[1], p.DType); err != nil {
			return err
		}
	}
	return op.SameType(p, in, out[:1])
}

// ordered calls f with the order of the selected elements of every vector.
func ordered(p TopKParams, x []float64, v lanes, f func(lane int, order []int)) {
	order := make([]int, v.n)
	for k := range v.count {
		at := v.first(k)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			if p.IsAscend {
				return compare(x[at+a*v.step], x[at+b*v.step])
			}
			return compare(x[at+b*v.step], x[at+a*v.step])
		})
		f(k, order[:p.take(v.n)])
	}
}

// compare orders numbers, NaN above all.
func compare(a, b float64) int {
	if math.IsNaN(a) || math.IsNaN(b) {
		return -cmp.Compare(b2i(math.IsNaN(b)), b2i(math.IsNaN(a)))
	}
	return cmp.Compare(a, b)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func topK(p TopKParams, c *op.Call) error {
	in := c.In[0]
	v, err := vectors(p.Axis, in.Shape)
	if err != nil {
		return err
	}
	k := lanes{v.count, p.take(v.n), v.step}
	if p.RetTyp == "mask" {
		loop.Clear(c.Out[0])
	}
	ordered(p, loop.Floats(in), v, func(lane int, order []int) {
		for i, from := range order {
			src, dst := v.first(lane)+from*v.step, k.first(lane)+i*k.step
			switch {
			case p.RetTyp == "mask":
				loop.Store(c.Out[0], src, []float64{1})
			case p.RetTyp == "indices":
				loop.StoreInt(c.Out[0], dst, []int64{int64(from)})
			default:
				if c.Out[0].Data != nil {
					copyRun(c.Out[0], dst, in, src, 1)
				}
				if c.Out[1].Data != nil {
					loop.StoreInt(c.Out[1], dst, []int64{int64(from)})
				}
			}
		}
	})
	return nil
}

func topKBackward(p TopKParams, c *op.Call) error {
	loop.Clear(c.Out[0])
	return selected(p, c.Out[0].Shape, c.In[1], func(at, k int) {
		copyRun(c.Out[0], at, c.In[0], k, 1)
	})
}

// selected calls f for every selected element of data of shape s: its place there and among the
// selected ones.
func selected(p TopKParams, s dtype.Shape, indices op.Tensor, f func(at, k int)) error {
	v, err := vectors(p.Axis, s)
	if err != nil {
		return err
	}
	k := lanes{v.count, p.take(v.n), v.step}
	from := loop.Ints(indices)
	for lane := range v.count {
		for i := range k.n {
			at := k.first(lane) + i*k.step
			if from[at] < 0 || from[at] >= int64(v.n) {
				return op.Errorf("indices", "%d, want one of %d elements", from[at], v.n)
			}
			f(v.first(lane)+int(from[at])*v.step, at)
		}
	}
	return nil
}
