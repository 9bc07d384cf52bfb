package ndarray_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/prim"
)

var errBroken = errors.New("it broke")

// Operators of the tests.
var (
	failing = op.Declare[op.NoParams]("test_failing")
	count   = op.Declare[op.NoParams]("test_count")
	update  = op.Declare[op.NoParams]("test_update")
	shapeOf = op.Declare[op.NoParams]("test_shape")
	draw    = op.Declare[op.NoParams]("test_draw")
	crossed = op.Declare[op.NoParams]("test_crossed")
)

func init() {
	failing.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Doc: "fails", NoGrad: "test", Inplace: [][2]int{{0, 0}}},
		Infer:  op.SameShape[op.NoParams],
		Ref:    func(_ op.NoParams, c *op.Call) error { return errBroken },
	})
	count.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Doc: "counts in an auxiliary state when training", Mutates: []int{1}},
		Inputs: prim.Inputs[op.NoParams]("data", "state"),
		Infer:  op.SameShape[op.NoParams],
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			return []op.Entry{prim.ElemwiseMul.Apply(op.NoParams{}, g.Head(0), g.In(0)), {}}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			copy(op.Slice[float32](c.Out[0]), op.Slice[float32](c.In[0]))
			if c.Train {
				op.Slice[float32](c.In[1])[0]++
			}
			return nil
		},
	})
	update.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Doc: "subtracts", Update: true, NoGrad: "test",
			Inplace: [][2]int{{0, 0}}},
		Inputs: prim.Inputs[op.NoParams]("weight", "grad"), Infer: op.SameShape[op.NoParams],
		Ref: func(_ op.NoParams, c *op.Call) error {
			w, g, out := op.Slice[float32](c.In[0]), op.Slice[float32](c.In[1]),
				op.Slice[float32](c.Out[0])
			for i := range w {
				out[i] = w[i] - g[i]
			}
			return nil
		},
	})
	shapeOf.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Doc: "reads the shape only", NoGrad: "test", Ignores: []int{0}},
		Infer:  op.SameShape[op.NoParams],
		Ref: func(_ op.NoParams, c *op.Call) error {
			if c.In[0].Data != nil {
				return errors.New("an ignored input has data")
			}
			for i := range op.Slice[float32](c.Out[0]) {
				op.Slice[float32](c.Out[0])[i] = float32(len(c.In[0].Shape))
			}
			return nil
		},
	})
	draw.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Doc: "returns its counters", Random: true, NoGrad: "test"},
		Infer:  op.SameShape[op.NoParams],
		Ref: func(_ op.NoParams, c *op.Call) error {
			for i := range op.Slice[float32](c.Out[0]) {
				op.Slice[float32](c.Out[0])[i] = float32(c.Seed.Counter + uint64(i) +
					1000*c.Seed.Key)
			}
			return nil
		},
	})
	crossed.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Doc: "reverses", NoGrad: "test"},
		Infer:  op.SameShape[op.NoParams],
		Ref: func(_ op.NoParams, c *op.Call) error {
			x, y := op.Slice[float32](c.In[0]), op.Slice[float32](c.Out[0])
			for i := range y {
				y[i] = x[len(x)-1-i]
			}
			return nil
		},
	})
}

func TestInvokeMisuse(t *testing.T) {
	x, y := nd.FromSlice(ramp(6), 2, 3), nd.FromSlice(ramp(2))
	for _, c := range []struct {
		name   string
		o      *op.Op
		params any
		in     []*nd.Array
		out    []*nd.Array
		want   []string
	}{
		{"shapes", prim.ElemwiseAdd.Op, nil, []*nd.Array{x, y}, nil,
			[]string{"elemwise_add (invoke_test.go:", "(2, 3)", "(2,)", "lhs", "rhs"}},
		{"types", prim.ElemwiseAdd.Op, nil, []*nd.Array{x, x.AsType(dtype.Int32)}, nil,
			[]string{"float32", "int32"}},
		{"count", prim.ElemwiseAdd.Op, nil, []*nd.Array{x}, nil,
			[]string{"1 input arrays, want 2: lhs, rhs"}},
		{"nil", prim.ElemwiseAdd.Op, nil, []*nd.Array{x, nil}, nil,
			[]string{"rhs: the array is nil"}},
		{"parameters", prim.ElemwiseAdd.Op, prim.ScalarParams{}, []*nd.Array{x, x}, nil,
			[]string{"prim.ScalarParams, want op.NoParams"}},
		{"outputs", prim.ElemwiseAdd.Op, nil, []*nd.Array{x, x}, []*nd.Array{x, x},
			[]string{"out: 2 output arrays, want 1"}},
		{"output shape", prim.ElemwiseAdd.Op, nil, []*nd.Array{x, x}, []*nd.Array{y},
			[]string{"elemwise_add", "(2,)", "(2, 3)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := nd.Invoke(prim.ElemwiseAdd.Op, nil, []*nd.Array{x, x}, nil); err != nil {
				t.Fatal(err) // the plan of a right call is there
			}
			_, err := nd.Invoke(c.o, c.params, c.in, c.out)
			var e *op.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an *op.Error", err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("got %q, want it to say %q", err, w)
				}
			}
		})
	}
}

func TestFailureArrivesAtWaits(t *testing.T) {
	x := nd.FromSlice(ramp(6), 2, 3)
	bad := nd.Apply(failing, op.NoParams{}, x)
	later := bad.AddScalar(1).Reshape(3, 2)
	for name, a := range map[string]*nd.Array{"itself": bad, "dependent": later} {
		for what, err := range map[string]error{"Wait": a.Wait(context.Background()),
			"Float32s": second(a.Float32s())} {
			if !errors.Is(err, errBroken) {
				t.Fatalf("%s of %s: got %v, want %v", what, name, err, errBroken)
			}
			for _, w := range []string{"test_failing", "cpu(0)", "data float32 (2, 3)",
				"invoke_test.go:"} {
				if w == "invoke_test.go:" && !callSites {
					continue
				}
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%s of %s: got %q, want it to say %q", what, name, err, w)
				}
			}
		}
	}
	if s := later.String(); !strings.Contains(s, "it broke") {
		t.Errorf("String: %q, want the error", s)
	}
	if err := nd.WaitAll(context.Background()); !errors.Is(err, errBroken) {
		t.Errorf("WaitAll: %v, want %v", err, errBroken)
	}
	want(t, x, 0, 1, 2, 3, 4, 5)
}

func second[T any](_ T, err error) error { return err }

func TestOverwriteCuresAndViewDoesNot(t *testing.T) {
	x := nd.FromSlice(ramp(4))
	if _, err := nd.Invoke(failing.Op, nil, []*nd.Array{x}, []*nd.Array{x}); err != nil {
		t.Fatal(err)
	}
	if err := nd.CopyFrom(x.Slice(0, 2), []float32{5, 6}); !errors.Is(err, errBroken) {
		t.Errorf("writing a view of a poisoned array: %v, want its error", err)
	}
	if err := x.ClearError(); !errors.Is(err, errBroken) {
		t.Errorf("ClearError of a value that a failed operation may have touched: %v, want the "+
			"error", err)
	}
	if err := nd.CopyFrom(x, []float32{4, 3, 2, 1}); err != nil {
		t.Fatal(err)
	}
	want(t, x, 4, 3, 2, 1)
	y := nd.FromSlice(ramp(4))
	y.AddInPlace(nd.Apply(failing, op.NoParams{}, y)) // skipped
	if err := y.Wait(context.Background()); !errors.Is(err, errBroken) {
		t.Errorf("Wait: %v, want the error", err)
	}
	if err := y.ClearError(); err != nil {
		t.Errorf("ClearError of an intact value: %v", err)
	}
	want(t, y, 0, 1, 2, 3)
	_ = nd.WaitAll(context.Background())
}

func TestExplicitOutputs(t *testing.T) {
	x := nd.FromSlice(ramp(3))
	if got := x.AddInPlace(x).MulScalarInPlace(10).AddScalarInPlace(1); got != x {
		t.Error("in-place functions return another array")
	}
	want(t, x, 1, 21, 41)
	if _, err := nd.Invoke(crossed.Op, nil, []*nd.Array{x}, []*nd.Array{x}); err != nil {
		t.Fatal(err)
	}
	want(t, x, 41, 21, 1) // the operator may not work in place
	y := nd.FromSlice(ramp(5))
	if _, err := nd.Invoke(prim.PlusScalar.Op, prim.ScalarParams{Scalar: 10},
		[]*nd.Array{y.Slice(0, 3)}, []*nd.Array{y.Slice(1, 4)}); err != nil {
		t.Fatal(err)
	}
	want(t, y, 0, 10, 11, 12, 4)
}

func TestUpdateWritesItsFirstInput(t *testing.T) {
	w, g := nd.FromSlice(ramp(3)), nd.FromSlice([]float32{1, 1, 1})
	if got := nd.Apply(update, op.NoParams{}, w, g); got != w {
		t.Error("an update returns another array than its first input")
	}
	want(t, w, -1, 0, 1)
}

func TestAuxiliaryStatesChangeInTrainingOnly(t *testing.T) {
	x, state := nd.FromSlice(ramp(1)), nd.FromSlice(ramp(1))
	nd.Apply(count, op.NoParams{}, x, state)
	want(t, state, 0)
	nd.Apply(count, op.NoParams{}, nd.NewTape(false).Watch(x), state)
	want(t, state, 0)
	nd.Apply(count, op.NoParams{}, nd.NewTape(true).Watch(x), state)
	want(t, state, 1)
}

func TestIgnoredInputsHaveNoData(t *testing.T) {
	want(t, nd.Apply(shapeOf, op.NoParams{}, nd.FromSlice(ramp(2), 1, 2)), 2, 2)
}

func TestRandomOperatorsTakeTheirRangeAtPush(t *testing.T) {
	x := nd.FromSlice(ramp(2))
	nd.SetSeed(3)
	want(t, nd.Apply(draw, op.NoParams{}, x), 3000, 3001)
	want(t, nd.Apply(draw, op.NoParams{}, nd.FromSlice(ramp(1))), 3002)
	want(t, nd.Apply(draw, op.NoParams{}, x), 3003, 3004)
	nd.SetSeed(3)
	want(t, nd.Apply(draw, op.NoParams{}, x), 3000, 3001)
}

// Random programs give what the same program on slices gives.
func TestRandomPrograms(t *testing.T) {
	for range 20 {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		const size = 6
		arrays, plain := make([]*nd.Array, 5), make([][]float32, 5)
		for i := range arrays {
			plain[i] = ramp(size)
			arrays[i] = nd.FromSlice(plain[i])
		}
		for range 60 {
			i, j, k := r.IntN(5), r.IntN(5), r.IntN(5)
			from := r.IntN(size)
			to := from + r.IntN(size-from) + 1
			switch r.IntN(4) {
			case 0: // a fresh result
				arrays[k] = arrays[i].Sub(arrays[j])
				fresh := make([]float32, size)
				for n := range fresh {
					fresh[n] = plain[i][n] - plain[j][n]
				}
				plain[k] = fresh
			case 1: // in place on a view
				arrays[k].Slice(from, to).AddScalarInPlace(1)
				fresh := append([]float32{}, plain[k]...)
				for n := from; n < to; n++ {
					fresh[n]++
				}
				plain[k] = fresh
			case 2: // from view to view
				arrays[k].Slice(from, to).Set(arrays[i].Slice(from, to))
				fresh := append([]float32{}, plain[k]...)
				copy(fresh[from:to], plain[i][from:to])
				plain[k] = fresh
			default: // free something early
				arrays[k].Close()
				plain[k] = ramp(size)
				arrays[k] = nd.FromSlice(plain[k])
			}
		}
		for i, a := range arrays {
			if got := values(t, a); fmt.Sprint(got) != fmt.Sprint(plain[i]) {
				t.Fatalf("seed %d: array %d is %v, want %v", seed, i, got, plain[i])
			}
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	x := nd.FromSlice(ramp(100))
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				y := x.AddScalar(float64(g)).Reshape(10, 1+9*(i%2), -1)
				if v, err := y.Float32s(); err != nil || v[99] != float32(99+g) {
					t.Errorf("got %v, %v", v, err)
					return
				}
				y.Close()
			}
		})
	}
	wg.Wait()
}
