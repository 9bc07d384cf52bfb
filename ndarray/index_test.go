package ndarray_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gomx/autograd"
	"gomx/dtype"
	"gomx/engine"
	nd "gomx/ndarray"
	"gomx/op"
)

// indices returns the indices of items.
func indices(items []indexItem) []nd.Index {
	list := make([]nd.Index, len(items))
	for i, x := range items {
		list[i] = x.index
	}
	return list
}

// describe writes down what items stand for.
func describe(items []indexItem) string {
	parts := make([]string, len(items))
	for i, x := range items {
		parts[i] = fmt.Sprintf("%c%v%v", x.kind, x.shape, x.lists)
	}
	return strings.Join(parts, ", ")
}

// drawShape returns a random shape.
func drawShape(r *rand.Rand) []int {
	shape := make([]int, 1+r.IntN(4))
	for i := range shape {
		shape[i] = []int{1, 2, 3, 3, 4, 5}[r.IntN(6)]
		if r.IntN(20) == 0 {
			shape[i] = 0
		}
	}
	return shape
}

// forRandomIndices calls f for random arrays and indices.
func forRandomIndices(t *testing.T, f func(r *rand.Rand, x *nd.Array, items []indexItem, out,
	from []int) error) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for n := range 300 {
		shape := drawShape(r)
		items := drawIndex(r, shape)
		out, from, ok := oracle(shape, items)
		if !ok {
			continue
		}
		x := nd.FromSlice(ramp(nd.Shape(shape).Size()), shape...)
		if err := f(r, x, items, out, from); err != nil {
			t.Fatalf("seed %d, case %d: shape %v at %s: %v", seed, n, shape, describe(items), err)
		}
	}
}

func TestIndexAgainstOracle(t *testing.T) {
	forRandomIndices(t, func(_ *rand.Rand, x *nd.Array, items []indexItem, out, from []int) error {
		got := x.Index(indices(items)...)
		if !got.Shape().Equal(out) {
			return fmt.Errorf("shape %v, want %v", got.Shape(), out)
		}
		for i, v := range values(t, got) {
			if int(v) != from[i] {
				return fmt.Errorf("got %v, want %v", values(t, got), from)
			}
		}
		return nil
	})
}

func TestSetIndexAgainstOracle(t *testing.T) {
	forRandomIndices(t, func(r *rand.Rand, x *nd.Array, items []indexItem, out, from []int) error {
		want := values(t, x)
		var value any = float64(-1)
		written := func(int) float32 { return -1 }
		if r.IntN(4) > 0 {
			value, written = drawValue(r, out)
		}
		for i, at := range from {
			want[at] = written(i)
		}
		x.SetIndex(value, indices(items)...)
		if got := values(t, x); !slices.Equal(got, want) {
			return fmt.Errorf("after %v is written: got %v, want %v", value, got, want)
		}
		return nil
	})
}

// drawValue returns an array that broadcasts to a shape, and what it is at every element there.
func drawValue(r *rand.Rand, shape []int) (*nd.Array, func(i int) float32) {
	own := append([]int{}, shape[r.IntN(len(shape)+1):]...)
	for i := range own {
		if r.IntN(3) == 0 {
			own[i] = 1
		}
	}
	v := nd.FromSlice(ramp(nd.Shape(own).Size()), own...).AddScalar(100)
	if r.IntN(3) == 0 {
		v = v.AsType(dtype.Int32)
	}
	if r.IntN(8) == 0 {
		v = v.Index(nd.NewAxis, nd.NewAxis, nd.NewAxis, nd.NewAxis)
	}
	return v, func(i int) float32 {
		at, step := 0, 1
		for k := 1; k <= len(own); k++ {
			if d := own[len(own)-k]; d > 1 {
				at += i % d * step
				step *= d
			}
			i /= shape[len(shape)-k]
		}
		return float32(at + 100)
	}
}

func TestIndexIsAViewWhereMXNetHasViews(t *testing.T) {
	for _, c := range []struct {
		name  string
		index []nd.Index
		view  bool
	}{
		{"nothing", nil, true},
		{"a row", []nd.Index{nd.Int(1)}, true},
		{"an element", []nd.Index{nd.Int(1), nd.Int(0), nd.Int(-1)}, true},
		{"rows", []nd.Index{nd.Range(1, 3)}, true},
		{"part of a row", []nd.Index{nd.Int(1), nd.Range(0, 2)}, true},
		{"one row as a range", []nd.Index{nd.Every(7), nd.From(1)}, true},
		{"new axes", []nd.Index{nd.NewAxis, nd.Ellipsis, nd.NewAxis}, true},
		{"a column", []nd.Index{nd.All(), nd.Int(1)}, false},
		{"steps", []nd.Index{nd.Every(2)}, false},
		{"backwards", []nd.Index{nd.Every(-1)}, false},
		{"parts of rows", []nd.Index{nd.All(), nd.Range(0, 2)}, false},
		{"a list", []nd.Index{nd.Ints{0, 1, 2, 3}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := nd.FromSlice(ramp(24), 4, 3, 2)
			y := x.Index(c.index...)
			if shares := y.Var() == x.Var(); shares != c.view {
				t.Fatalf("shares memory: %v, want %v", shares, c.view)
			}
			y.Fill(-1)
			count := 0
			for _, v := range values(t, x) {
				if v == -1 {
					count++
				}
			}
			if want := y.Size(); c.view && count != want || !c.view && count != 0 {
				t.Errorf("%d elements changed", count)
			}
		})
	}
}

func TestGradientsFlowThroughIndices(t *testing.T) {
	rows := nd.FromSlice([]int32{2, -1, 2}, 3)
	mask := nd.FromSlice([]bool{true, false, true, true})
	r := rand.New(rand.NewPCG(1, 2))
	for name, index := range map[string][]nd.Index{
		"row":        {nd.Int(1)},
		"element":    {nd.Int(1), nd.Int(2), nd.Int(0)},
		"rows":       {nd.Range(1, 3)},
		"new axis":   {nd.NewAxis, nd.Int(1), nd.NewAxis},
		"steps":      {nd.Every(-2), nd.All(), nd.Int(1)},
		"empty":      {nd.Range(2, 2)},
		"list":       {nd.All(), nd.Ints{0, 0, 2}},
		"array":      {rows},
		"two arrays": {rows, nd.Range(1, 3), nd.FromSlice([]int64{0, 1, 0})},
		"mask":       {mask},
		"mask of 2": {nd.Mask(nd.FromSlice([]float32{1, 0, 0, 0, 2, 0, 0, 0, 0, 1, 1, 1}, 4, 3)),
			nd.NewAxis},
		"mixed": {mask, nd.Int(-1), nd.Every(1)},
	} {
		t.Run(name, func(t *testing.T) {
			x := leaf64(r, 4, 3, 2)
			value := func() *nd.Array {
				y := nd.NewTape(true).Watch(x).Square().Index(index...)
				return y.Mul(nd.Arange(1, float64(y.Size()+1), 1,
					nd.As(dtype.Float64)).Reshape(y.Shape()...)).Sum()
			}
			value().Backward()
			checkGradient(t, 0, x, func() float64 { return item(t, value()) })
		})
	}
}

func TestIndexMisuse(t *testing.T) {
	x := nd.FromSlice(ramp(6), 2, 3)
	for _, c := range []struct {
		name  string
		index []nd.Index
		want  string
	}{
		{"place", []nd.Index{nd.All(), nd.Int(3)},
			"3 for axis 1 of an array of shape (2, 3), want -3 to 2"},
		{"list", []nd.Index{nd.Ints{0, -3}},
			"-3 for axis 0 of an array of shape (2, 3), want -2 to 1"},
		{"too many", []nd.Index{nd.Int(0), nd.Ellipsis, nd.Int(0), nd.Int(0)},
			"indices for 3 axes, the array of shape (2, 3) has 2"},
		{"ellipses", []nd.Index{nd.Ellipsis, nd.Ellipsis}, "2 ellipses, want at most one"},
		{"step", []nd.Index{nd.Every(0)}, "step 0 for axis 0"},
		{"nil", []nd.Index{nil}, "nil, want an index"},
		{"floats", []nd.Index{x}, "an array of float32, want integers (AsType) or a mask (Mask)"},
		{"mask", []nd.Index{nd.Mask(nd.Ones(nd.Shape{3}))},
			"the mask has shape (3,), want (2,): the extents of axes 0 to 0"},
		{"lists", []nd.Index{nd.Ints{0, 1}, nd.Ints{0, 1, 2}},
			"lists of shape (2,) and (3,) do not broadcast"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := panics(t, func() { x.Index(c.index...) })
			if !strings.Contains(got, c.want) || !strings.HasPrefix(got, "Index (index_test.go:") {
				t.Errorf("Index: got %q, want %q", got, c.want)
			}
			got = panics(t, func() { x.SetIndex(0, c.index...) })
			if !strings.Contains(got, c.want) ||
				!strings.HasPrefix(got, "SetIndex (index_test.go:") {
				t.Errorf("SetIndex: got %q, want %q", got, c.want)
			}
		})
	}
	late := x.Index(nd.FromSlice([]int32{0, 2}))
	if _, err := late.Float32s(); err == nil ||
		!strings.Contains(err.Error(), "2 for axis 0, want 0 to 1") {
		t.Errorf("an index array out of range: got %v", err)
	}
	if err := nd.WaitAll(t.Context()); err == nil {
		t.Error("WaitAll does not know of it")
	}
}

func TestSetIndexMisuse(t *testing.T) {
	x := nd.FromSlice(ramp(6), 2, 3)
	_, w := watched(1, 2)
	other, err := engine.New(engine.Config{Naive: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		x     *nd.Array
		value any
		want  string
	}{
		{"type", x, "1", "a string, want an *Array, an int, a float or a bool"},
		{"nil", x, (*nd.Array)(nil), "the array is nil"},
		{"shape", x, nd.Ones(nd.Shape{2}), "shape (2,) does not broadcast to (2, 3)"},
		{"larger", x, nd.Ones(nd.Shape{2, 2, 3}), "shape (2, 2, 3) does not broadcast to (2, 3)"},
		{"engine", x, nd.Ones(nd.Shape{1}, nd.Using(other)), "belongs to another engine"},
		{"recorded", w.Square(), 1, "a tape has recorded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := panics(t, func() { c.x.SetIndex(c.value) }); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSetIndexOfOverlappingParts(t *testing.T) {
	x := nd.FromSlice(ramp(5))
	x.SetIndex(x.Index(nd.Range(0, 4)), nd.Range(1, 5))
	want(t, x, 0, 0, 1, 2, 3)
	x.SetIndex(x.Index(nd.Range(0, 2)), nd.Ints{3, 4})
	want(t, x, 0, 0, 1, 0, 0)
	x.SetIndex(x.Slice(2, 5), nd.Every(2))
	want(t, x, 1, 0, 0, 0, 0)
	x.SetIndex(nd.FromSlice([]float32{5, 6, 7}), nd.Ints{1, 2, 1}) // the last one stays
	want(t, x, 1, 7, 6, 0, 0)
}

func TestSetIndexIsNotRecorded(t *testing.T) {
	x, w := watched(1, 2)
	y := nd.Zeros(nd.Shape{2})
	y.SetIndex(w.MulScalar(3), nd.All())
	want(t, y, 3, 6)
	y.Mul(w).Backward()
	want(t, x.Grad(), 3, 6)
}

func TestIndexedArraysBelongToTheScope(t *testing.T) {
	var view, part *nd.Array
	nd.Scope(func(s *nd.Scoped) {
		x := s.Own(nd.FromSlice(ramp(6), 2, 3))
		view, part = x.Index(nd.Int(0)), x.Index(nd.All(), nd.Ints{1})
		want(t, part, 1, 4)
	})
	for _, a := range []*nd.Array{view, part} {
		if got := panics(t, func() { a.Copy() }); !strings.Contains(got, "closed") {
			t.Errorf("got %q, want that the array is closed", got)
		}
	}
}

func TestBooleanMask(t *testing.T) {
	x := nd.FromSlice([]float32{0, 1, 2, 3, 4, 5}, 3, 2)
	x.AttachGrad(nd.GradWrite)
	w := autograd.Train().Watch(x)
	y := nd.BooleanMask(w, nd.FromSlice([]float32{1, 0, -1}), nd.BooleanMaskParams{})
	if got, err := y.Float32s(); err != nil || !slices.Equal(got, []float32{0, 1, 4, 5}) ||
		!slices.Equal(y.Shape(), []int{2, 2}) {
		t.Errorf("got %v of shape %v and error %v, want rows 0 and 2", got, y.Shape(), err)
	}
	grads, err := autograd.Grad([]*nd.Array{nd.Sum(nd.Square(y), nd.ReduceParams{})}, []*nd.Array{w})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := grads[0].Float32s(); err != nil || !slices.Equal(got,
		[]float32{0, 2, 0, 0, 8, 10}) {
		t.Errorf("got gradient %v, error %v", got, err)
	}
	if none := nd.BooleanMask(x, nd.FromSlice([]bool{false, false, false}),
		nd.BooleanMaskParams{}); !slices.Equal(none.Shape(), []int{0, 2}) {
		t.Errorf("got shape %v without a row, want (0, 2)", none.Shape())
	}
	o := op.Lookup("_contrib_boolean_mask")
	if _, err := nd.Invoke(o, nil, []*nd.Array{x, nd.Ones(nd.Shape{2})}, nil); err == nil ||
		!strings.Contains(err.Error(), "want (3,)") {
		t.Errorf("got error %v for an index of 2 rows, want one about its shape", err)
	}
	if _, err := nd.Invoke(o, nil, []*nd.Array{x}, nil); err == nil {
		t.Error("got no error for one input")
	}
}
