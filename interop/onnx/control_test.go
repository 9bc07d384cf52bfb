package onnx_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"gomx/dtype"
	"gomx/interop/onnx"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
)

// graph makes a graph for an attribute.
func graph(in, out []string, nodes ...*onnxpb.NodeProto) *onnxpb.GraphProto {
	g := &onnxpb.GraphProto{Name: proto.String("body"), Node: nodes}
	for _, name := range in {
		g.Input = append(g.Input, &onnxpb.ValueInfoProto{Name: proto.String(name)})
	}
	for _, name := range out {
		g.Output = append(g.Output, &onnxpb.ValueInfoProto{Name: proto.String(name)})
	}
	return g
}

// plain makes a node of the main domain without attributes.
func plain(t *testing.T, name string, in []string, out ...string) *onnxpb.NodeProto {
	t.Helper()
	return node(t, "", name, in, out, nil)
}

// near compares lists within a tolerance for float32.
func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d elements, want %d", what, len(got), len(want))
	}
	for i := range got {
		if d := math.Abs(got[i] - want[i]); !(d <= 1e-5*(1+math.Abs(want[i]))) {
			t.Errorf("%s: got %g at element %d, want %g", what, got[i], i, want[i])
		}
	}
}

// TestScanGradient trains through a scan that reads a weight around it, with axes and directions
// of its own: state = tanh(w · state + x), rows 2 · state.
func TestScanGradient(t *testing.T) {
	const seed, steps, n = 21, 3, 2
	r := rand.New(rand.NewPCG(seed, 0))
	f := func(shape ...int) *nd.Array { return random(r, dtype.Float64, -1, 1, shape...) }
	g := graph([]string{"s", "row"}, []string{"next", "out"},
		plain(t, "Mul", []string{"w", "s"}, "ws"), plain(t, "Add", []string{"ws", "row"}, "sum"),
		plain(t, "Tanh", []string{"sum"}, "next"), plain(t, "Add", []string{"next", "next"}, "out"))
	b := built{opset: 17, outs: []string{"rows", "last"},
		inputs: map[string]*nd.Array{"x": f(n, steps), "w": f(n), "first": f(n)},
		nodes: []*onnxpb.NodeProto{node(t, "", "Scan", []string{"first", "x"},
			[]string{"last", "rows"}, attrs{"body": g, "num_scan_inputs": 1,
				"scan_input_axes": []int{1}, "scan_input_directions": []int{1},
				"scan_output_axes": []int{1}, "scan_output_directions": []int{1}})}}
	got := b.run(t)
	x, _ := numbers(b.inputs["x"])
	w, _ := numbers(b.inputs["w"])
	s, _ := numbers(b.inputs["first"])
	rows := make([]float64, n*steps)
	for k := steps - 1; k >= 0; k-- {
		for i := range s {
			s[i] = math.Tanh(w[i]*s[i] + x[i*steps+k])
			rows[i*steps+k] = 2 * s[i]
		}
	}
	near(t, "rows", got[0], rows)
	near(t, "last state", got[1], s)
	b.gradients(t, r, "x", "w", "first")
}

// counted is a model with a loop of a fixed number of steps: state = state · w + step.
func counted(t *testing.T, r *rand.Rand, steps int64) built {
	t.Helper()
	g := graph([]string{"i", "go", "s"}, []string{"go", "next", "row"},
		node(t, "", "Cast", []string{"i"}, []string{"f"}, attrs{"to": 11}),
		plain(t, "Mul", []string{"s", "w"}, "ws"), plain(t, "Add", []string{"ws", "f"}, "next"),
		plain(t, "Exp", []string{"next"}, "row"))
	return built{opset: 17, outs: []string{"rows", "last"}, fixed: []string{"n"},
		inputs: map[string]*nd.Array{"n": nd.FromSlice([]int64{steps}, 1),
			"w": random(r, dtype.Float64, 0.1, 0.9, 2),
			"x": random(r, dtype.Float64, -1, 1, 2)},
		nodes: []*onnxpb.NodeProto{node(t, "", "Loop", []string{"n", "", "x"},
			[]string{"last", "rows"}, attrs{"body": g})}}
}

// TestLoopGradient trains through a loop of a known number of steps.
func TestLoopGradient(t *testing.T) {
	const seed, steps = 22, 3
	r := rand.New(rand.NewPCG(seed, 0))
	b := counted(t, r, steps)
	got := b.run(t)
	s, _ := numbers(b.inputs["x"])
	w, _ := numbers(b.inputs["w"])
	var rows []float64
	for k := range steps {
		for i := range s {
			s[i] = s[i]*w[i] + float64(k)
			rows = append(rows, math.Exp(s[i]))
		}
	}
	near(t, "rows", got[0], rows)
	near(t, "last state", got[1], s)
	b.gradients(t, r, "x", "w")
}

// TestLoopWithoutSteps demands the first states and no rows.
func TestLoopWithoutSteps(t *testing.T) {
	b := counted(t, rand.New(rand.NewPCG(1, 0)), 0)
	m, err := b.load(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Outputs[0].Shape; !got.Equal(dtype.Shape{0, 2}) {
		t.Errorf("rows of shape %v, want (0, 2)", got)
	}
}

// TestLoopCondition doubles a number until it is large, decided by values at run time.
func TestLoopCondition(t *testing.T) {
	g := graph([]string{"i", "go", "s"}, []string{"more", "next"},
		plain(t, "Add", []string{"s", "s"}, "next"),
		plain(t, "Less", []string{"next", "limit"}, "more"))
	for first, want := range map[float32]float64{1: 128, 3: 192, 200: 400} {
		b := built{opset: 17, outs: []string{"y"}, fixed: []string{"n"},
			inputs: map[string]*nd.Array{"n": nd.FromSlice([]int64{50}, 1),
				"x": nd.FromSlice([]float32{first}), "limit": nd.FromSlice([]float32{100})},
			nodes: []*onnxpb.NodeProto{node(t, "", "Loop", []string{"n", "", "x"}, []string{"y"},
				attrs{"body": g})}}
		near(t, "last state", b.run(t)[0], []float64{want})
	}
}

// TestLoopThatGrows joins a row to the state in every step: its shape changes.
func TestLoopThatGrows(t *testing.T) {
	g := graph([]string{"i", "go", "s"}, []string{"go", "next"},
		node(t, "", "Concat", []string{"s", "x"}, []string{"next"}, attrs{"axis": 0}))
	b := built{opset: 17, outs: []string{"y"}, fixed: []string{"n"},
		inputs: map[string]*nd.Array{"n": nd.FromSlice([]int64{3}, 1),
			"x": nd.FromSlice([]float32{5, 6})},
		nodes: []*onnxpb.NodeProto{node(t, "", "Loop", []string{"n", "", "x"}, []string{"y"},
			attrs{"body": g})}}
	near(t, "last state", b.run(t)[0], []float64{5, 6, 5, 6, 5, 6, 5, 6})
	b.inputs["n"] = nd.FromSlice([]int64{1 << 40}, 1)
	if _, err := b.load(t); err == nil {
		t.Error("a loop without end passes")
	}
}

// TestIfOfValues takes a branch at run time and trains through it.
func TestIfOfValues(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 0))
	for _, hold := range []bool{true, false} {
		x := random(r, dtype.Float64, 0.5, 1, 3)
		b := built{opset: 17, outs: []string{"y"}, inputs: map[string]*nd.Array{"x": x,
			"c": nd.FromSlice([]bool{hold}, 1)}, nodes: []*onnxpb.NodeProto{
			node(t, "", "If", []string{"c"}, []string{"y"}, attrs{
				"then_branch": graph(nil, []string{"a"}, plain(t, "Exp", []string{"x"}, "e"),
					plain(t, "Mul", []string{"e", "x"}, "a")),
				"else_branch": graph(nil, []string{"b"}, plain(t, "Log", []string{"x"}, "b"))})}}
		list, _ := numbers(x)
		for i, v := range list {
			if list[i] = math.Log(v); hold {
				list[i] = v * math.Exp(v)
			}
		}
		m, err := b.load(t)
		if err != nil || !slices.Equal(m.Switches, []string{"c"}) {
			t.Errorf("switches %q, %v, want c", m.Switches, err)
		}
		near(t, "branch", b.run(t)[0], list)
		b.gradients(t, r, "x")
	}
}

// TestSwitches: a condition that needs more than single integers and booleans names no input.
func TestSwitches(t *testing.T) {
	for _, c := range []struct {
		x    *nd.Array
		want []string
	}{
		{nd.FromSlice([]int64{3}, 1), []string{"x"}}, {nd.FromSlice([]float32{3}, 1), nil},
		{nd.FromSlice([]int64{3, 4}, 2), nil},
	} {
		keep := attrs{"keepdims": 0}
		b := built{opset: 17, outs: []string{"y"}, inputs: map[string]*nd.Array{"x": c.x},
			nodes: []*onnxpb.NodeProto{
				node(t, "", "ReduceMax", []string{"x"}, []string{"m"}, keep),
				node(t, "", "Cast", []string{"m"}, []string{"c"},
					attrs{"to": int(onnxpb.TensorProto_BOOL)}),
				node(t, "", "If", []string{"c"}, []string{"y"}, attrs{
					"then_branch": graph(nil, []string{"a"}, plain(t, "Neg", []string{"x"}, "a")),
					"else_branch": graph(nil, []string{"b"}, plain(t, "Abs", []string{"x"}, "b"))})}}
		m, err := b.load(t)
		if err != nil || !slices.Equal(m.Switches, c.want) {
			t.Errorf("%v of shape %v: got %q, %v, want %q", c.x.DType(), c.x.Shape(), m.Switches, err,
				c.want)
		}
	}
}

// function makes a function of domain local.
func function(name string, in, out []string, nodes ...*onnxpb.NodeProto) *onnxpb.FunctionProto {
	return &onnxpb.FunctionProto{Name: proto.String(name), Domain: proto.String("local"), Input: in,
		Output: out, Node: nodes}
}

// TestFunctions calls a function that has an attribute with a default, an input that is left out,
// and names that are in use around the call.
func TestFunctions(t *testing.T) {
	leaky := plain(t, "LeakyRelu", []string{"a"}, "x")
	leaky.Attribute = []*onnxpb.AttributeProto{{Name: proto.String("alpha"),
		RefAttrName: proto.String("slope"), Type: onnxpb.AttributeProto_FLOAT.Enum()}}
	clip := plain(t, "Clip", []string{"x", "low"}, "y")
	f := function("Bend", []string{"a", "low"}, []string{"y"}, leaky, clip)
	f.AttributeProto = attrs{"slope": 0.5}.protos(t)
	twice := function("Twice", []string{"v"}, []string{"w"},
		node(t, "local", "Bend", []string{"v"}, []string{"u"}, attrs{"slope": 0.25}),
		node(t, "local", "Bend", []string{"u"}, []string{"w"}, nil))
	b := built{opset: 17, outs: []string{"y"}, funcs: []*onnxpb.FunctionProto{f, twice},
		inputs: map[string]*nd.Array{"x": nd.FromSlice([]float32{-8, 3})},
		nodes:  []*onnxpb.NodeProto{node(t, "local", "Twice", []string{"x"}, []string{"y"}, nil)}}
	near(t, "result", b.run(t)[0], []float64{-1, 3})
	b.nodes[0] = node(t, "local", "Thrice", []string{"x"}, []string{"y"}, nil)
	if _, err := b.load(t); !errors.As(err, new(*onnx.Missing)) {
		t.Errorf("a call of no function: got %v", err)
	}
	b.funcs = append(b.funcs, function("Thrice", []string{"v"}, []string{"w"},
		node(t, "local", "Thrice", []string{"v"}, []string{"w"}, nil)))
	if _, err := b.load(t); err == nil || !strings.Contains(err.Error(), "depth") {
		t.Errorf("a function that calls itself: got %v", err)
	}
}
