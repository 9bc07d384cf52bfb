package onnx_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	nd "gomx/ndarray"
)

// integers makes an array of uint8 or int8.
func integers(r *rand.Rand, t dtype.Type, shape ...int) *nd.Array {
	low := 0.0
	if t == dtype.Int8 {
		low = -128
	}
	list := make([]float64, dtype.Shape(shape).Size())
	for i := range list {
		list[i] = low + float64(r.IntN(256))
	}
	return nd.Cast(nd.FromSlice(list, shape...), nd.CastParams{DType: t})
}

// rounded is x/scale + zero as uint8.
func rounded(x, scale, zero float64) float64 {
	return min(max(math.RoundToEven(x/scale)+zero, 0), 255)
}

// close1 compares integers that may differ by one where a quotient lies at a half.
func close1(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d elements, want %d", what, len(got), len(want))
	}
	wrong := 0
	for i := range got {
		d := math.Abs(got[i] - want[i])
		if d > 1 {
			t.Errorf("%s: got %g at element %d, want %g", what, got[i], i, want[i])
		}
		if d > 0 {
			wrong++
		}
	}
	if wrong > len(got)/20 {
		t.Errorf("%s: %d of %d elements differ", what, wrong, len(got))
	}
}

// number makes an array of one float32.
func number(v float32) *nd.Array { return nd.FromSlice([]float32{v}) }

// byteOf makes an array of one uint8.
func byteOf(v uint8) *nd.Array { return nd.FromSlice([]uint8{v}) }

func TestQLinearPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 0))
	for name, f := range map[string]func(a, b float64) float64{
		"QLinearAdd": func(a, b float64) float64 { return a + b },
		"QLinearMul": func(a, b float64) float64 { return a * b },
	} {
		b := contrib(t, name, []string{"a", "sa", "za", "b", "sb", "zb", "sy", "zy"}, []string{"y"},
			nil, map[string]*nd.Array{"a": integers(r, dtype.Uint8, 6, 10), "sa": number(0.02),
				"za": byteOf(120), "b": integers(r, dtype.Uint8, 10), "sb": number(0.03),
				"zb": byteOf(130), "sy": number(0.07), "zy": byteOf(100)})
		v := b.floats(t, "a", "b")
		for i, x := range v[0] {
			v[0][i] = rounded(f((x-120)*0.02, (v[1][i%10]-130)*0.03), 0.07, 100)
		}
		close1(t, name, b.run(t)[0], v[0])
	}
}

func TestQLinearFunctions(t *testing.T) {
	r := rand.New(rand.NewPCG(52, 0))
	inputs := map[string]*nd.Array{"x": integers(r, dtype.Uint8, 2, 3, 4, 4), "s": number(0.04),
		"z": byteOf(128), "t": number(0.023), "u": byteOf(64)}
	in := []string{"x", "s", "z", "t", "u"}
	x := make([]float64, 96)
	for i, v := range contrib(t, "", nil, nil, nil, inputs).floats(t, "x")[0] {
		x[i] = (v - 128) * 0.04
	}
	var sigmoid, leaky []float64
	means, pools := make([]float64, 6), make([]float64, 24)
	for i, v := range x {
		sigmoid = append(sigmoid, rounded(1/(1+math.Exp(-v)), 0.023, 64))
		leaky = append(leaky, rounded(max(v, 0.1*v), 0.023, 64))
		means[i/16] += v / 16
		pools[i/16*4+i/8%2*2+i/2%2] += v / 4
	}
	for i := range means {
		means[i] = rounded(means[i], 0.023, 64)
	}
	for i := range pools {
		pools[i] = rounded(pools[i], 0.023, 64)
	}
	for _, c := range []struct {
		name string
		want []float64
		a    attrs
	}{{"QLinearSigmoid", sigmoid, nil}, {"QLinearLeakyRelu", leaky, attrs{"alpha": 0.1}},
		{"QLinearGlobalAveragePool", means, nil}, {"QLinearAveragePool", pools,
			attrs{"kernel_shape": []int{2, 2}, "strides": []int{2, 2}}}} {
		close1(t, c.name, contrib(t, c.name, in, []string{"y"}, c.a, inputs).run(t)[0], c.want)
	}
}

func TestQLinearConcat(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 0))
	b := contrib(t, "QLinearConcat", []string{"sy", "zy", "a", "sa", "za", "b", "sb", "zb"},
		[]string{"y"}, attrs{"axis": 1}, map[string]*nd.Array{"sy": number(0.05), "zy": byteOf(99),
			"a": integers(r, dtype.Uint8, 10, 2), "sa": number(0.02), "za": byteOf(120),
			"b": integers(r, dtype.Uint8, 10, 3), "sb": number(0.03), "zb": byteOf(130)})
	v := b.floats(t, "a", "b")
	var want []float64
	for i := range 50 {
		if i%5 < 2 {
			want = append(want, rounded((v[0][i/5*2+i%5]-120)*0.02, 0.05, 99))
		} else {
			want = append(want, rounded((v[1][i/5*3+i%5-2]-130)*0.03, 0.05, 99))
		}
	}
	close1(t, "QLinearConcat", b.run(t)[0], want)
}

func TestQuantizedProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(54, 0))
	const m, k, n = 3, 5, 4
	b := contrib(t, "MatMulIntegerToFloat", []string{"a", "b", "sa", "sb", "za", "zb", "c"},
		[]string{"y"}, nil, map[string]*nd.Array{"a": integers(r, dtype.Uint8, m, k),
			"b": integers(r, dtype.Int8, k, n), "sa": number(0.02),
			"sb": random(r, dtype.Float32, 0.01, 0.02, n), "za": byteOf(120),
			"zb": nd.FromSlice([]int8{3}), "c": random(r, dtype.Float32, -1, 1, n)})
	v := b.floats(t, "a", "b", "sb", "c")
	product := func(a func(i int) float64, scale float64) []float64 {
		y := make([]float64, m*n)
		for i := range y {
			for j := range k {
				y[i] += a(i/n*k+j) * (v[1][j*n+i%n] - 3)
			}
			y[i] = y[i]*scale*v[2][i%n] + v[3][i%n]
		}
		return y
	}
	near(t, "MatMulIntegerToFloat", b.run(t)[0],
		product(func(i int) float64 { return v[0][i] - 120 }, 0.02))
	x := random(r, dtype.Float32, -2, 1, m, k)
	b = contrib(t, "DynamicQuantizeMatMul", []string{"x", "b", "sb", "zb", "c"}, []string{"y"}, nil,
		map[string]*nd.Array{"x": x, "b": b.inputs["b"], "sb": b.inputs["sb"],
			"zb": b.inputs["zb"], "c": b.inputs["c"]})
	list := eightBits(b.floats(t, "x")[0])
	near(t, "DynamicQuantizeMatMul", b.run(t)[0],
		product(func(i int) float64 { return list[i] }, 1))
}

// eightBits returns numbers as 8 bits of their range stand for them.
func eightBits(list []float64) []float64 {
	low, high := 0.0, 0.0
	for _, v := range list {
		low, high = min(low, v), max(high, v)
	}
	out := make([]float64, len(list))
	if low == high {
		return out
	}
	scale := (high - low) / 255
	zero := math.RoundToEven(-low / scale)
	for i, v := range list {
		out[i] = scale * (rounded(v, scale, zero) - zero)
	}
	return out
}

// TestDynamicQuantizeLSTM compares the states with those of a loop: the inputs as a whole, and the
// states of each step, are rounded to 8 bits before they are multiplied by weights.
func TestDynamicQuantizeLSTM(t *testing.T) {
	weights := []string{"w", "r", "b", "sw", "zw", "sr", "zr"}
	for _, c := range []dynamic{{name: "computed"}, {name: "real", fixed: weights},
		{name: "integers", middle: true, fixed: weights},
		{name: "clipped", middle: true, fixed: weights, clip: 0.7}} {
		for _, direction := range []string{"forward", "reverse", "bidirectional"} {
			c.direction = direction
			t.Run(c.name+" "+direction, c.test)
		}
	}
}

// dynamic is a case of TestDynamicQuantizeLSTM.
type dynamic struct {
	name, direction string
	middle          bool     // weights less their zero points fit into 8 bits
	fixed           []string // inputs that are known at import
	clip            float64  // 0: none
}

func (c dynamic) test(t *testing.T) {
	r := rand.New(rand.NewPCG(55, 0))
	const steps, width, size = 3, 2, 2
	dirs := 1
	if c.direction == "bidirectional" {
		dirs = 2
	}
	zeros := integers(r, dtype.Uint8, dirs, 4*size)
	if c.middle {
		zeros = nd.Cast(nd.Floor(nd.Uniform(127, 129, nd.Shape{dirs, 4 * size}, nd.Seed(56))),
			nd.CastParams{DType: dtype.Uint8})
	}
	options := attrs{"hidden_size": size, "direction": c.direction}
	if c.clip > 0 {
		options["clip"] = c.clip
	}
	b := contrib(t, "DynamicQuantizeLSTM", []string{"x", "w", "r", "b", "", "", "", "", "sw", "zw",
		"sr", "zr"}, []string{"y"}, options, map[string]*nd.Array{
		"x": random(r, dtype.Float32, -1, 1, steps, 1, width),
		"w": integers(r, dtype.Uint8, dirs, width, 4*size),
		"r": nd.Cast(nd.Uniform(0, 255, nd.Shape{dirs, size, 4 * size}, nd.Seed(55)),
			nd.CastParams{DType: dtype.Uint8}),
		"b": random(r, dtype.Float32, -1, 1, dirs, 8*size), "sw": nd.Full(0.01, nd.Shape{dirs}),
		"zw": nd.Full(128, nd.Shape{dirs}, nd.As(dtype.Uint8)),
		"sr": random(r, dtype.Float32, 0.005, 0.01, dirs, 4*size),
		"zr": zeros})
	b.fixed = c.fixed
	v := b.floats(t, "x", "w", "r", "b", "sr", "zr")
	v[0] = eightBits(v[0])
	want := make([]float64, steps*dirs*size)
	for d := range dirs {
		own := [][]float64{v[0]}
		for _, list := range v[1:] {
			n := len(list) / dirs
			own = append(own, list[d*n:(d+1)*n])
		}
		h, cell := make([]float64, size), make([]float64, size)
		for i := range steps {
			at := i
			if d == 1 || c.direction == "reverse" {
				at = steps - 1 - i
			}
			c.step(own, at, eightBits(h), h, cell)
			copy(want[(at*dirs+d)*size:], h)
		}
	}
	near(t, "states", b.run(t)[0], want)
}

// step computes a step of a direction from the inputs x, w, r, b, sr and zr, and from its last state,
// read.
func (c dynamic) step(v [][]float64, at int, read, h, cell []float64) {
	size, width := len(h), len(v[1])/(4*len(h))
	act := func(f func(float64) float64, x float64) float64 {
		if c.clip > 0 {
			x = min(max(x, -c.clip), c.clip)
		}
		return f(x)
	}
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	gates := make([]float64, 4*size)
	for g := range gates {
		gates[g] = v[3][g] + v[3][4*size+g]
		for i := range width {
			gates[g] += v[0][at*width+i] * (v[1][i*4*size+g] - 128) * 0.01
		}
		for i := range size {
			gates[g] += read[i] * (v[2][i*4*size+g] - v[5][g]) * v[4][g]
		}
	}
	for i := range size { // gates in the order input, output, forget, cell
		cell[i] = act(sigmoid, gates[2*size+i])*cell[i] +
			act(sigmoid, gates[i])*act(math.Tanh, gates[3*size+i])
		h[i] = act(sigmoid, gates[size+i]) * act(math.Tanh, cell[i])
	}
}
