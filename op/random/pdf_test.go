package random_test

import (
	"testing"

	"gomx/internal/optest"
	"gomx/op/random"
)

// TestDensities has values of MXNet 1.9.1.
func TestDensities(t *testing.T) {
	a := func(v ...float64) []float64 { return v }
	tests := []struct {
		name    string
		x, p, y []float64
		sample  bool // differentiable by the sample
	}{
		{"uniform", a(0.5, 1.5), a(0, 2), a(0.5, 0.5), true},
		{"normal", a(0.5, 4), a(0, 2), a(0.193334, 0.026995), true},
		{"gamma", a(0.5, 4), a(3, 2), a(0.367879, 0.0214696), true},
		{"exponential", a(0.5, 4), a(3), a(0.6693905, 1.8432636e-05), true},
		{"poisson", a(0, 4), a(3), a(0.0497871, 0.1680314), false},
		{"negative_binomial", a(0, 4), a(3, 0.4), a(0.064, 0.124416), false},
		{"generalized_negative_binomial", a(0, 4), a(3, 0.4), a(0.1392975, 0.1112627), false},
	}
	for _, tt := range tests {
		in := optest.Ops(optest.F([]int{1, 2}, tt.x...))
		for _, v := range tt.p {
			in = append(in, optest.F([]int{1}, v))
		}
		c := optest.Case{In: in, Want: optest.Ops(optest.F([]int{1, 2}, tt.y...))}
		if !tt.sample {
			c.Const = []int{0}
		}
		o := lookup(t, "_random_pdf_"+tt.name)
		optest.Run(t, o, c)
		c.Name, c.Want, c.Params = "log", nil, random.PDFParams{IsLog: true}
		optest.Run(t, o, c)
	}
}

func TestDirichletDensity(t *testing.T) {
	optest.Run(t, lookup(t, "_random_pdf_dirichlet"),
		optest.Case{In: optest.Ops(optest.F([]int{1, 2, 3}, 0.2, 0.3, 0.5, 0.1, 0.1, 0.8),
			optest.F([]int{1, 3}, 3, 2, 1)),
			Want: optest.Ops(optest.F([]int{1, 2}, 0.72, 0.06))},
		optest.Case{Name: "log", Params: random.PDFParams{IsLog: true},
			In:   optest.Ops(optest.F([]int{3}, 0.2, 0.3, 0.5), optest.F([]int{3}, 3, 2, 1)),
			Want: optest.Ops(optest.F([]int{1}, -0.328504))})
}
