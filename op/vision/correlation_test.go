package vision_test

import (
	"math"
	"testing"

	"gomx/device"
	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

// correlation computes the output element by element, reading zeros around the data.
func correlation(p vision.CorrelationParams, a, b op.Tensor, out dtype.Shape) op.Tensor {
	s, y := a.Shape, optest.New(dtype.Float32, out...)
	at := func(x op.Tensor, n, c, row, col int) float64 {
		if row < 0 || row >= s[2] || col < 0 || col >= s[3] {
			return 0
		}
		return float64(op.Slice[float32](x)[((n*s[1]+c)*s[2]+row)*s[3]+col])
	}
	d := p.MaxDisplacement.Or(1)
	side := 2*(d/p.Stride2) + 1
	for i := range out.Size() {
		col, row, q, n := i%out[3], i/out[3]%out[2], i/out[3]/out[2]%out[1], i/out[1:].Size()
		sum := 0.0
		for c := range s[1] {
			for k := range p.KernelSize * p.KernelSize {
				r1 := row*p.Stride1 + d - p.PadSize + k/p.KernelSize
				c1 := col*p.Stride1 + d - p.PadSize + k%p.KernelSize
				u, v := at(a, n, c, r1, c1), at(b, n, c, r1+(q/side-side/2)*p.Stride2,
					c1+(q%side-side/2)*p.Stride2)
				if p.Difference {
					sum += math.Abs(u - v)
				} else {
					sum += u * v
				}
			}
		}
		op.Slice[float32](y)[i] = float32(sum / float64(s[1]*p.KernelSize*p.KernelSize))
	}
	return y
}

func TestCorrelation(t *testing.T) {
	type P = vision.CorrelationParams
	for _, tt := range []struct {
		name string
		p    P
		in   []int
		out  dtype.Shape
	}{
		{"single elements", P{1, op.Some(0), 1, 1, 0, false}, []int{2, 3, 3, 4}, dtype.Shape{2, 1, 3, 4}},
		{"neighbours", P{1, op.Some(2), 1, 1, 2, false}, []int{1, 2, 6, 7}, dtype.Shape{1, 25, 6, 7}},
		{"patches", P{3, op.Some(2), 1, 2, 3, false}, []int{2, 3, 8, 8}, dtype.Shape{2, 9, 8, 8}},
		{"differences", P{1, op.Some(1), 2, 1, 1, true}, []int{1, 2, 7, 7}, dtype.Shape{1, 9, 4, 4}},
		{"differences of patches", P{3, op.Some(1), 1, 1, 1, true}, []int{1, 2, 6, 5},
			dtype.Shape{1, 9, 4, 3}},
		{"long rows", P{1, op.Some(3), 1, 1, 1, false}, []int{1, 2, 9, 40}, dtype.Shape{1, 49, 5, 36}},
		{"steps", P{3, op.Some(3), 3, 2, 4, false}, []int{2, 1, 9, 10}, dtype.Shape{2, 9, 3, 4}},
	} {
		a, b := random(1, tt.in...), random(2, tt.in...)
		optest.Run(t, vision.Correlation.Op, optest.Case{Name: tt.name, Params: tt.p,
			In: optest.Ops(a, b), Want: optest.Ops(correlation(tt.p, a, b, tt.out))})
	}
	a := optest.F([]int{1, 1, 1, 2}, 2, 3)
	optest.Run(t, vision.Correlation.Op, optest.Case{Name: "half",
		Params: P{MaxDisplacement: op.Some(0)}, In: optest.Ops(half(a), half(a)),
		Want: optest.Ops(half(optest.F([]int{1, 1, 1, 2}, 4, 9)))})
}

func TestCorrelationShapes(t *testing.T) {
	for name, c := range map[string]inferCase{
		"batch": {op: "Correlation", in: shapes{nil, {-1, 2, 5, 6}}, out: shapes{{3, -1, -1, -1}},
			wantIn: shapes{{3, 2, 5, 6}, {3, 2, 5, 6}}, wantOut: shapes{{3, 9, 3, 4}}},
		"even":  {op: "Correlation", attrs: "kernel_size=2", in: shapes{nil, nil}, err: "odd"},
		"small": {op: "Correlation", in: shapes{{1, 1, 2, 9}, nil}, err: "too small"},
	} {
		t.Run(name, c.run)
	}
}

func BenchmarkCorrelation(b *testing.B) {
	// The comparison of FlowNetC for images of 384·512.
	p, err := vision.Correlation.Normalize(vision.CorrelationParams{PadSize: 20,
		MaxDisplacement: op.Some(20), Stride2: 2})
	if err != nil {
		b.Fatal(err)
	}
	x, y := random(1, 1, 256, 48, 64), random(2, 1, 256, 48, 64)
	for _, tier := range []device.Tier{device.TierRef, device.TierC} {
		b.Run(tier.String(), func(b *testing.B) {
			for b.Loop() {
				r := optest.Runner{Tier: tier}
				if _, err := r.Apply(vision.Correlation.Op, p, optest.Ops(x, y)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
