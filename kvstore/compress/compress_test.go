package compress_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/kvstore/compress"
)

var methods = []compress.Method{
	{},
	{Kind: compress.TwoBit, Threshold: 0.3},
	{Kind: compress.TwoBit},
	{Kind: compress.OneBit},
	{Kind: compress.TopK, Ratio: 0.1},
	{Kind: compress.TopK, Ratio: 1},
	{Kind: compress.Half},
	{Kind: compress.BHalf},
}

// oracle says in the plainest way what a receiver is to understand of v.
func oracle(m compress.Method, v []float32) []float32 {
	out := make([]float32, len(v))
	switch m.Kind {
	case compress.TwoBit:
		t := m.Threshold
		if t == 0 {
			t = 0.5
		}
		for i, x := range v {
			if x >= t {
				out[i] = t
			} else if x <= -t {
				out[i] = -t
			}
		}
	case compress.OneBit:
		var sum [2]float64
		var n [2]int
		side := func(x float32) int {
			if x < 0 {
				return 0
			}
			return 1
		}
		for _, x := range v {
			sum[side(x)] += float64(x)
			n[side(x)]++
		}
		for i, x := range v {
			out[i] = float32(sum[side(x)] / float64(n[side(x)]))
		}
	case compress.TopK:
		order := make([]int, len(v))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			switch x, y := math.Abs(float64(v[a])), math.Abs(float64(v[b])); {
			case x > y:
				return -1
			case x < y:
				return 1
			}
			return 0
		})
		for _, i := range order[:int(math.Ceil(m.Ratio*float64(len(v))))] {
			out[i] = v[i]
		}
	case compress.Half:
		for i, x := range v {
			out[i] = dtype.HalfOf(x).Float32()
		}
	case compress.BHalf:
		for i, x := range v {
			out[i] = dtype.BF16Of(x).Float32()
		}
	default:
		copy(out, v)
	}
	return out
}

// TestOracle sends several gradients one after the other and compares, every time, what arrives and
// what is left with the plain rules.
func TestOracle(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 2))
	for _, m := range methods {
		for _, n := range []int{0, 1, 7, 16, 17, 100, 1003} {
			residual, left := make([]float32, n), make([]float32, n)
			for step := range 5 {
				grad := make([]float32, n)
				for i := range grad {
					grad[i] = float32(math.Round(rng.NormFloat64()*8) / 16) // many ties
				}
				payload, err := m.Append([]byte("before"), grad, residual)
				if err != nil || string(payload[:6]) != "before" {
					t.Fatalf("%+v: Append: %v", m, err)
				}
				payload = payload[6:]
				if len(payload) != m.Size(n) {
					t.Fatalf("%+v: payload of %d bytes, Size says %d", m, len(payload), m.Size(n))
				}
				got := make([]float32, n)
				for i := range got {
					got[i] = float32(i)
				}
				if err := compress.Decode(got, m.Kind, payload); err != nil {
					t.Fatal(err)
				}
				whole := make([]float32, n)
				for i := range whole {
					whole[i] = left[i] + grad[i]
				}
				want := oracle(m, whole)
				for i := range want {
					left[i] = whole[i] - want[i]
				}
				if m.Kind == compress.None {
					clear(left)
				}
				if !slices.Equal(got, want) || !slices.Equal(residual, left) {
					t.Fatalf("%+v, %d elements, step %d, seed %d: got %v left %v, want %v left %v",
						m, n, step, seed, got, residual, want, left)
				}
			}
		}
	}
}

// TestNothingIsLost: over many steps the sum of what arrives and of what is left is that of the
// gradients.
func TestNothingIsLost(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n, steps = 200, 300
	for _, m := range methods {
		residual, sum, want := make([]float32, n), make([]float32, n), make([]float64, n)
		var payload []byte
		for range steps {
			grad := make([]float32, n)
			for i := range grad {
				grad[i] = float32(rng.NormFloat64() / 10)
				want[i] += float64(grad[i])
			}
			payload, _ = m.Append(payload[:0], grad, residual)
			if err := compress.Add(sum, m.Kind, payload); err != nil {
				t.Fatal(err)
			}
		}
		for i := range want {
			if got := float64(sum[i]) + float64(residual[i]); math.Abs(got-want[i]) > 1e-4 {
				t.Fatalf("%+v: element %d: %v arrived, %v left, want %v together", m, i, sum[i],
					residual[i], want[i])
			}
		}
	}
}

// TestTwoBitLayout pins MXNet's packing: sixteen elements in four bytes, the first in the highest
// bits.
func TestTwoBitLayout(t *testing.T) {
	grad := make([]float32, 18)
	for i, v := range map[int]float32{0: 1, 1: -1, 3: 0.2, 5: 1, 17: -3} {
		grad[i] = v
	}
	residual := make([]float32, len(grad))
	m := compress.Method{Kind: compress.TwoBit, Threshold: 1}
	got, err := m.Append(nil, grad, residual)
	want := []byte{0, 0, 0x80, 0x3f, 0xe0, 0x30, 0, 0, 0x20, 0, 0, 0}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got % x, %v, want % x", got, err, want)
	}
	if residual[17] != -2 || residual[3] != 0.2 {
		t.Errorf("residual %v", residual)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		params map[string]any
		want   compress.Method
		fails  bool
	}{
		{map[string]any{"type": "2bit", "threshold": 0.25}, compress.Method{Kind: compress.TwoBit,
			Threshold: 0.25}, false},
		{map[string]any{"type": "topk", "ratio": 0.5}, compress.Method{Kind: compress.TopK,
			Ratio: 0.5}, false},
		{map[string]any{"type": "fp16"}, compress.Method{Kind: compress.Half}, false},
		{map[string]any{"type": "bf16"}, compress.Method{Kind: compress.BHalf}, false},
		{map[string]any{"type": "2bit", "threshold": -1}, compress.Method{}, true},
		{map[string]any{"type": "topk", "ratio": 2.0}, compress.Method{}, true},
		{map[string]any{"type": "3bit"}, compress.Method{}, true},
		{map[string]any{"size": 3}, compress.Method{}, true},
	} {
		got, err := compress.Parse(c.params)
		if (err != nil) != c.fails || !c.fails && got != c.want {
			t.Errorf("Parse(%v) = %+v, %v, want %+v, error %v", c.params, got, err, c.want, c.fails)
		}
	}
}

func TestAddRejects(t *testing.T) {
	for _, c := range []struct {
		name    string
		kind    compress.Kind
		payload []byte
	}{
		{"unknown kind", 77, nil},
		{"short", compress.TwoBit, make([]byte, 7)},
		{"long", compress.Half, make([]byte, 22)},
		{"place outside", compress.TopK, []byte{10, 0, 0, 0, 0, 0, 0, 0}},
		{"place twice", compress.TopK, make([]byte, 16)},
		{"half a pair", compress.TopK, make([]byte, 12)},
	} {
		sum := make([]float32, 10)
		if err := compress.Add(sum, c.kind, c.payload); err == nil {
			t.Errorf("%s: accepted", c.name)
		}
	}
}

func FuzzAdd(f *testing.F) {
	rng := rand.New(rand.NewPCG(5, 6))
	grad := make([]float32, 33)
	for i := range grad {
		grad[i] = float32(rng.NormFloat64())
	}
	for _, m := range methods {
		payload, _ := m.Append(nil, grad, make([]float32, len(grad)))
		f.Add(uint8(m.Kind), uint16(len(grad)), payload)
	}
	f.Fuzz(func(t *testing.T, kind uint8, n uint16, payload []byte) {
		sum := make([]float32, n)
		if err := compress.Add(sum, compress.Kind(kind), payload); err != nil {
			for _, v := range sum {
				if v != 0 {
					t.Fatal("an error changed the sum")
				}
			}
		}
	})
}

func BenchmarkTwoBit(b *testing.B) {
	grad, residual := make([]float32, 1<<18), make([]float32, 1<<18)
	for i := range grad {
		grad[i] = float32(i%7-3) / 4
	}
	m := compress.Method{Kind: compress.TwoBit}
	var payload []byte
	b.SetBytes(int64(4 * len(grad)))
	b.ReportAllocs()
	for b.Loop() {
		payload, _ = m.Append(payload[:0], grad, residual)
	}
}
