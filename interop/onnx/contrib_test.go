package onnx_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
)

// contrib is a model of one node of the domain com.microsoft.
func contrib(t *testing.T, name string, in, outs []string, a attrs,
	inputs map[string]*nd.Array) built {
	t.Helper()
	return built{opset: 17, outs: outs, inputs: inputs,
		nodes: []*onnxpb.NodeProto{node(t, "com.microsoft", name, in, outs, a)}}
}

// floats returns the values of inputs.
func (b built) floats(t *testing.T, names ...string) [][]float64 {
	t.Helper()
	var lists [][]float64
	for _, name := range names {
		list, err := numbers(b.inputs[name])
		if err != nil {
			t.Fatal(err)
		}
		lists = append(lists, list)
	}
	return lists
}

func TestFusedMatMul(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 0))
	b := contrib(t, "FusedMatMul", []string{"a", "b"}, []string{"y"},
		attrs{"transA": 1, "transB": 1, "alpha": 0.5}, map[string]*nd.Array{
			"a": random(r, dtype.Float32, -1, 1, 2, 3, 4), "b": random(r, dtype.Float32, -1, 1, 2, 5, 3)})
	v := b.floats(t, "a", "b")
	want := make([]float64, 2*4*5)
	for i := range want {
		n, row, column := i/20, i/5%4, i%5
		for k := range 3 {
			want[i] += 0.5 * v[0][n*12+k*4+row] * v[1][n*15+column*3+k]
		}
	}
	near(t, "product", b.run(t)[0], want)
}

func TestGelus(t *testing.T) {
	r := rand.New(rand.NewPCG(42, 0))
	exact := func(x float64) float64 { return x * 0.5 * (1 + math.Erf(x/math.Sqrt2)) }
	fast := func(x float64) float64 {
		return x * 0.5 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	}
	quick := func(x float64) float64 { return x / (1 + math.Exp(-1.5*x)) }
	for _, c := range []struct {
		name string
		f    func(x float64) float64
		bias bool
		a    attrs
	}{{"Gelu", exact, false, nil}, {"FastGelu", fast, false, nil}, {"FastGelu", fast, true, nil},
		{"BiasGelu", exact, true, nil}, {"QuickGelu", quick, false, attrs{"alpha": 1.5}}} {
		in := []string{"x"}
		inputs := map[string]*nd.Array{"x": random(r, dtype.Float32, -3, 3, 3, 4)}
		if c.bias {
			in, inputs["b"] = append(in, "b"), random(r, dtype.Float32, -1, 1, 4)
		}
		b := contrib(t, c.name, in, []string{"y"}, c.a, inputs)
		want := b.floats(t, in...)
		for i := range want[0] {
			if c.bias {
				want[0][i] += want[1][i%4]
			}
			want[0][i] = c.f(want[0][i])
		}
		near(t, c.name, b.run(t)[0], want[0])
	}
}

// rowNorm normalizes rows of n elements; the simple form leaves the mean.
func rowNorm(x, gamma, beta []float64, n int, eps float64, simple bool) []float64 {
	y := make([]float64, len(x))
	for at := 0; at < len(x); at += n {
		var mean, square float64
		for _, v := range x[at : at+n] {
			mean += v / float64(n)
		}
		if simple {
			mean = 0
		}
		for _, v := range x[at : at+n] {
			square += (v - mean) * (v - mean) / float64(n)
		}
		for i, v := range x[at : at+n] {
			y[at+i] = (v - mean) / math.Sqrt(square+eps) * gamma[i]
			if beta != nil {
				y[at+i] += beta[i]
			}
		}
	}
	return y
}

func TestSkipNorms(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 0))
	f := func(shape ...int) *nd.Array { return random(r, dtype.Float32, -1, 1, shape...) }
	inputs := map[string]*nd.Array{"x": f(2, 3, 4), "s": f(2, 3, 4), "g": f(4), "b": f(4), "a": f(4)}
	for _, simple := range []bool{false, true} {
		name, in := "SkipLayerNormalization", []string{"x", "s", "g", "b", "a"}
		if simple {
			name, in = "SkipSimplifiedLayerNormalization", []string{"x", "s", "g", "a"}
		}
		used := map[string]*nd.Array{}
		for _, n := range in {
			used[n] = inputs[n]
		}
		b := contrib(t, name, in, []string{"y", "", "", "sum"}, attrs{"epsilon": 0.01}, used)
		b.outs = []string{"y", "sum"}
		v := b.floats(t, "x", "s", "g", "a")
		for i := range v[0] {
			v[0][i] += v[1][i] + v[3][i%4]
		}
		var beta []float64
		if !simple {
			beta = b.floats(t, "b")[0]
		}
		got := b.run(t)
		near(t, name, got[0], rowNorm(v[0], v[2], beta, 4, 0.01, simple))
		near(t, "sum", got[1], v[0])
	}
}

func TestEmbedLayerNormalization(t *testing.T) {
	r := rand.New(rand.NewPCG(44, 0))
	f := func(shape ...int) *nd.Array { return random(r, dtype.Float32, -1, 1, shape...) }
	words, segments := []int32{3, 0, 4, 1, 1, 2}, []int32{0, 1, 1, 0, 0, 1}
	b := contrib(t, "EmbedLayerNormalization", []string{"w", "s", "tw", "tp", "ts", "g", "b", "m"},
		[]string{"y", "n"}, attrs{"epsilon": 0.01}, map[string]*nd.Array{
			"w": nd.FromSlice(words, 2, 3), "s": nd.FromSlice(segments, 2, 3), "tw": f(5, 4),
			"tp": f(6, 4), "ts": f(2, 4), "g": f(4), "b": f(4),
			"m": nd.FromSlice([]int32{1, 1, 0, 1, 0, 0}, 2, 3)})
	v := b.floats(t, "tw", "tp", "ts", "g", "b")
	var sum []float64
	for i, w := range words {
		for k := range 4 {
			sum = append(sum, v[0][int(w)*4+k]+v[1][i%3*4+k]+v[2][int(segments[i])*4+k])
		}
	}
	got := b.run(t)
	near(t, "result", got[0], rowNorm(sum, v[3], v[4], 4, 0.01, false))
	near(t, "words of the mask", got[1], []float64{2, 1})
}

// heads describes attention for the naive computation.
type heads struct {
	n, queries, keys, heads, size int
	add                           func(n, head, query, key int) float64
}

// attend computes attention, number by number.
func (h heads) attend(q, k, v []float64) []float64 {
	width := h.heads * h.size
	y := make([]float64, h.n*h.queries*width)
	for at := range h.n * h.heads * h.queries {
		n, head, i := at/(h.heads*h.queries), at/h.queries%h.heads, at%h.queries
		scores, sum := make([]float64, h.keys), 0.0
		for j := range scores {
			for d := range h.size {
				scores[j] += q[(n*h.queries+i)*width+head*h.size+d] *
					k[(n*h.keys+j)*width+head*h.size+d]
			}
			scores[j] = math.Exp(scores[j]/math.Sqrt(float64(h.size)) + h.add(n, head, i, j))
			sum += scores[j]
		}
		for j, s := range scores {
			for d := range h.size {
				y[(n*h.queries+i)*width+head*h.size+d] += s / sum *
					v[(n*h.keys+j)*width+head*h.size+d]
			}
		}
	}
	return y
}

func TestContribAttention(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 0))
	f := func(shape ...int) *nd.Array { return random(r, dtype.Float32, -1, 1, shape...) }
	const n, length, width = 2, 3, 4
	lengths := []int32{2, 3}
	mask := []int32{1, 0, 1, 1, 1, 0}
	for _, c := range []struct {
		name string
		mask *nd.Array
		add  func(n, head, query, key int) float64
		a    attrs
	}{
		{"no mask", nil, func(_, _, _, _ int) float64 { return 0 }, attrs{"num_heads": 2}},
		{"lengths", nd.FromSlice(lengths), func(n, _, _, key int) float64 {
			if key < int(lengths[n]) {
				return 0
			}
			return -10000
		}, attrs{"num_heads": 2}},
		{"mask", nd.FromSlice(mask, n, length), func(n, _, _, key int) float64 {
			return 10000 * float64(mask[n*length+key]-1)
		}, attrs{"num_heads": 2}},
		{"causal", nil, func(_, _, query, key int) float64 {
			if key > query {
				return math.Inf(-1)
			}
			return 0
		}, attrs{"num_heads": 2, "unidirectional": 1}},
	} {
		in := []string{"x", "w", "b"}
		inputs := map[string]*nd.Array{"x": f(n, length, width), "w": f(width, 3*width),
			"b": f(3 * width)}
		if c.mask != nil {
			in, inputs["m"] = append(in, "m"), c.mask
		}
		b := contrib(t, "Attention", in, []string{"y"}, c.a, inputs)
		v := b.floats(t, "x", "w", "b")
		var parts [3][]float64
		for i := range n * length {
			for column := range 3 * width {
				s := v[2][column]
				for k := range width {
					s += v[0][i*width+k] * v[1][k*3*width+column]
				}
				parts[column/width] = append(parts[column/width], s)
			}
		}
		h := heads{n, length, length, 2, width / 2, c.add}
		near(t, c.name, b.run(t)[0], h.attend(parts[0], parts[1], parts[2]))
	}
}

func TestMultiHeadAttention(t *testing.T) {
	r := rand.New(rand.NewPCG(46, 0))
	f := func(shape ...int) *nd.Array { return random(r, dtype.Float32, -1, 1, shape...) }
	const n, queries, keys, width = 2, 2, 3, 4
	mask := []int32{1, 0, 1, 1, 1, 0}
	b := contrib(t, "MultiHeadAttention", []string{"q", "k", "v", "b", "m", "s"}, []string{"y"},
		attrs{"num_heads": 2}, map[string]*nd.Array{"q": f(n, queries, width),
			"k": f(n, keys, width), "v": f(n, keys, width), "b": f(3 * width),
			"m": nd.FromSlice(mask, n, keys), "s": f(1, 2, queries, keys)})
	v := b.floats(t, "q", "k", "v", "b", "s")
	for i := range 3 {
		for k := range v[i] {
			v[i][k] += v[3][i*width+k%width]
		}
	}
	h := heads{n, queries, keys, 2, width / 2, func(n, head, query, key int) float64 {
		return 10000*float64(mask[n*keys+key]-1) + v[4][(head*queries+query)*keys+key]
	}}
	near(t, "attention", b.run(t)[0], h.attend(v[0], v[1], v[2]))
}

// TestPastKeys attends with keys and values of a past: query i reads them and those up to its own.
func TestPastKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(48, 0))
	f := func(shape ...int) *nd.Array { return random(r, dtype.Float32, -1, 1, shape...) }
	const n, queries, past, size = 2, 2, 3, 2
	const width, keys = 2 * size, past + queries
	b := contrib(t, "MultiHeadAttention", []string{"q", "k", "v", "", "", "", "pk", "pv"},
		[]string{"y", "nk", "nv"}, attrs{"num_heads": 2, "unidirectional": 1},
		map[string]*nd.Array{"q": f(n, queries, width), "k": f(n, queries, width),
			"v": f(n, queries, width), "pk": f(n, 2, past, size), "pv": f(n, 2, past, size)})
	b.outs = []string{"y", "nk", "nv"}
	v := b.floats(t, "q", "k", "v", "pk", "pv")
	var all [2][]float64 // (n, keys, width)
	for i := range all {
		for at := range n * keys * width {
			sample, key, head, d := at/(keys*width), at/width%keys, at/size%2, at%size
			if key < past {
				all[i] = append(all[i], v[3+i][((sample*2+head)*past+key)*size+d])
			} else {
				all[i] = append(all[i], v[1+i][(sample*queries+key-past)*width+at%width])
			}
		}
	}
	h := heads{n, queries, keys, 2, size, func(_, _, query, key int) float64 {
		if key > past+query {
			return math.Inf(-1)
		}
		return 0
	}}
	got := b.run(t)
	near(t, "attention", got[0], h.attend(v[0], all[0], all[1]))
	for i, have := range got[1:] {
		var want []float64 // (n, heads, keys, size)
		for at := range have {
			sample, head, key, d := at/(2*keys*size), at/(keys*size)%2, at/size%keys, at%size
			want = append(want, all[i][(sample*keys+key)*width+head*size+d])
		}
		near(t, "present", have, want)
	}
}

func TestFusedLayers(t *testing.T) {
	r := rand.New(rand.NewPCG(47, 0))
	f := func(shape ...int) *nd.Array { return random(r, dtype.Float32, -1, 1, shape...) }
	b := contrib(t, "FusedGemm", []string{"x", "w", "b"}, []string{"y"}, attrs{"transB": 1,
		"activation": "LeakyRelu", "leaky_relu_alpha": 0.2}, map[string]*nd.Array{"x": f(2, 3),
		"w": f(4, 3), "b": f(4)})
	v := b.floats(t, "x", "w", "b")
	want := make([]float64, 8)
	for i := range want {
		want[i] = v[2][i%4]
		for k := range 3 {
			want[i] += v[0][i/4*3+k] * v[1][i%4*3+k]
		}
		if want[i] < 0 {
			want[i] *= 0.2
		}
	}
	near(t, "FusedGemm", b.run(t)[0], want)
	b = contrib(t, "FusedConv", []string{"x", "w", "b", "z"}, []string{"y"}, attrs{
		"activation": "Clip", "activation_params": []float64{-0.25, 0.5}}, map[string]*nd.Array{
		"x": f(1, 1, 4), "w": f(2, 1, 2), "b": f(2), "z": f(1, 2, 3)})
	v = b.floats(t, "x", "w", "b", "z")
	want = make([]float64, 6)
	for i := range want {
		o, at := i/3, i%3
		s := v[2][o] + v[3][i] + v[0][at]*v[1][o*2] + v[0][at+1]*v[1][o*2+1]
		want[i] = min(max(s, -0.25), 0.5)
	}
	near(t, "FusedConv", b.run(t)[0], want)
}
