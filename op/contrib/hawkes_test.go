package contrib_test

import (
	"math"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/contrib"
)

// hawkesCase is a call with the results of MXNet 1.9.1.
func hawkesCase() optest.Case {
	return optest.Case{Name: "MXNet", NoDiff: true, Tol: optest.Tolerance{Abs: 1e-4, Rel: 1e-5},
		In: optest.Ops(
			optest.F([]int{2, 3}, 1.050798, 1.208148, 0.7909048, 1.010828, 1.392947, 1.396293),
			optest.F([]int{3}, .2, .3, .4), optest.F([]int{3}, 1, 2, .5),
			optest.F([]int{2, 3}, 0.1255853, 0.2072429, 0.0514672, 0.4408098, 0.02987621, 0.4568332),
			optest.F([]int{2, 4}, 0.6491441, 0.2784873, 0.6762549, 0.5908628, 0.02398188, 0.5588541,
				0.2592525, 0.4151012),
			optest.Array(dtype.Int32, []int{2, 4}, 1, 2, 0, 2, 0, 1, 0, 1),
			optest.F([]int{2}, 4, 2), optest.F([]int{2}, 6, 5)),
		Want: optest.Ops(optest.F([]int{2}, -19.67219, -19.33527), optest.F([]int{2, 3},
			0.01263644, 2.377973e-05, 0.2309068, 0.009871644, 0.0001470029, 0.03749915)),
		Heads: optest.Ops(optest.F([]int{2}, 1, -2), optest.F([]int{2, 3}, 0, 0, 0, 0, 0, 0)),
		WantGrad: optest.Ops(
			optest.F([]int{2, 3}, -5.052895, -5.194908, -3.635371, 8.17668, 8.569931, 10),
			optest.F([]int{3}, 0.9881567, 0.9167027, -0.657383),
			optest.F([]int{3}, -0.1475967, -0.003062504, -0.1494943))}
}

func TestHawkes(t *testing.T) { optest.Run(t, contrib.Hawkes.Op, hawkesCase()) }

// TestHawkesAgainstIntegral compares the log-likelihood with its definition: the logarithms of the
// intensity at the events less the integral of the intensity, here a sum over small steps.
func TestHawkesAgainstIntegral(t *testing.T) {
	const lda, alpha, beta, end = 0.7, 0.6, 1.5, 5.0
	events := []float64{0.5, 0.9, 2.5, 4}
	intensity := func(at float64) float64 {
		v := lda
		for _, e := range events {
			if e < at {
				v += alpha * beta * math.Exp(-beta*(at-e))
			}
		}
		return v
	}
	want, lags := 0.0, make([]float64, len(events))
	for i, e := range events {
		want += math.Log(intensity(e))
		lags[i] = e
		if i > 0 {
			lags[i] -= events[i-1]
		}
	}
	const steps = 1_000_000
	for i := range steps {
		want -= intensity((float64(i)+.5)*end/steps) * end / steps
	}
	one := func(v float64) op.Tensor { return optest.F([]int{1}, v) }
	optest.Run(t, contrib.Hawkes.Op, optest.Case{NoDiff: true,
		In: optest.Ops(optest.F([]int{1, 1}, lda), one(alpha), one(beta), optest.F([]int{1, 1}, 0),
			optest.F([]int{1, 4}, lags...), optest.Array(dtype.Int32, []int{1, 4}, 0, 0, 0, 0), one(4),
			one(end)), Want: optest.Ops(one(want))})
}

func TestHawkesErrors(t *testing.T) {
	for want, spoil := range map[string]func(in []op.Tensor){
		"marks: element (0, 1) is 3, want 0 to 2":        func(in []op.Tensor) { op.Slice[int32](in[5])[1] = 3 },
		"valid_length: element 1 is 4.5, want at most 4": func(in []op.Tensor) { op.Slice[float32](in[6])[1] = 4.5 },
	} {
		c := hawkesCase()
		spoil(c.In)
		_, err := optest.Runner{}.Apply(contrib.Hawkes.Op, op.NoParams{}, c.In)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}
