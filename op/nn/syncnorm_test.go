package nn_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/nn"
)

func TestSyncBatchNormOfOneDevice(t *testing.T) {
	type P = nn.SyncBatchNormParams
	in := []op.Tensor{random(1, 3, 2, 2), random(2, 2), random(3, 2), random(4, 2), positive(5, 2)}
	x := values(dtype.Shape{2, 2, 1}, 1, 10, 3, 30)
	optest.Run(t, nn.SyncBatchNorm.Op,
		optest.Case{Name: "statistics", Train: true, Params: P{Key: "a"}, Const: []int{3, 4},
			NoDiff: true,
			In:     []op.Tensor{x, vec(2, 3), vec(5, 6), vec(0, 1), vec(1, 4)},
			Want:   []op.Tensor{{}, vec(2, 20), vec(1, 100)},
			After:  []op.Tensor{{}, {}, {}, vec(0.2, 2.9), vec(1, 13.6)}},
		optest.Case{Name: "gamma", Train: true, Params: P{Key: "a", NoFixGamma: true,
			Eps: op.Some(0.1)}, In: in, Const: []int{3, 4}},
		optest.Case{Name: "fixed gamma", Train: true, Params: P{Key: "a", Eps: op.Some(0.1)}, In: in,
			Const: []int{3, 4}},
		optest.Case{Name: "inference", Params: P{Key: "a", NDev: 2, NoFixGamma: true}, In: in,
			Const: []int{3, 4}},
		optest.Case{Name: "global statistics", Train: true, Params: P{Key: "a", NDev: 2,
			UseGlobalStats: true}, In: in, Const: []int{3, 4}},
	)
}

// TestSyncBatchNormOfTwoDevices: two halves of a batch are normalized as the whole, and so are their
// gradients.
func TestSyncBatchNormOfTwoDevices(t *testing.T) {
	x, dy := random(1, 4, 3, 2), random(2, 4, 3, 2)
	gamma, beta, mean, variance := random(3, 3), random(4, 3), random(5, 3), positive(6, 3)
	const size = 12
	for _, fixed := range []bool{false, true} {
		p := nn.SyncBatchNormParams{Key: "two", NoFixGamma: !fixed}
		whole := forwardBackward(t, p, x, dy, gamma, beta, mean, variance)
		p.NDev = 2
		var halves [2]normResults
		var wg sync.WaitGroup
		for i := range halves {
			wg.Go(func() {
				part := func(x op.Tensor) op.Tensor {
					return values(dtype.Shape{2, 3, 2}, op.Slice[float32](x)[i*size:(i+1)*size]...)
				}
				halves[i] = forwardBackward(t, p, part(x), part(dy), gamma, beta, mean, variance)
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		compare := func(what string, got, want op.Tensor) {
			t.Helper()
			if d := optest.Diff(got, want, optest.Tolerance{Abs: 1e-5, Rel: 1e-5}); d != "" {
				t.Errorf("fixed gamma %v: %s: %s", fixed, what, d)
			}
		}
		compare("output", joined(halves[0].out[0], halves[1].out[0], x.Shape), whole.out[0])
		compare("gradient", joined(halves[0].grads[0], halves[1].grads[0], x.Shape), whole.grads[0])
		for k := range 2 {
			compare("moving average", halves[k].moving[0], whole.moving[0])
			compare("moving variance", halves[k].moving[1], whole.moving[1])
		}
		for k := 1; k < 3; k++ {
			a, b := op.Slice[float32](halves[0].grads[k]), op.Slice[float32](halves[1].grads[k])
			for i := range a {
				a[i] += b[i]
			}
			compare("gradient of gamma or beta", halves[0].grads[k], whole.grads[k])
		}
	}
}

// normResults are the results of one training step.
type normResults struct{ out, grads, moving []op.Tensor }

// forwardBackward runs SyncBatchNorm and its gradient.
func forwardBackward(t *testing.T, p nn.SyncBatchNormParams, x, dy, gamma, beta, mean,
	variance op.Tensor) normResults {
	moving := []op.Tensor{optest.Clone(mean), optest.Clone(variance)}
	params, err := nn.SyncBatchNorm.Normalize(p)
	var out, grads []op.Tensor
	r := optest.Runner{Train: true}
	if err == nil {
		out, err = r.Apply(nn.SyncBatchNorm.Op, params, append([]op.Tensor{x, gamma, beta},
			moving...))
	}
	if err == nil {
		back := op.Lookup("_backward_contrib_SyncBatchNorm")
		if p.NDev < 2 {
			back, params = nn.BatchNormGrad.Op, nn.BatchNormParams{NoFixGamma: p.NoFixGamma}
			params, err = back.Normalize(params)
		}
		if err == nil {
			grads, err = r.Apply(back, params, []op.Tensor{dy, x, gamma, out[1], out[3]})
		}
	}
	if err != nil {
		t.Error(err)
	}
	return normResults{out, grads, moving}
}

// joined is one array of two parts.
func joined(a, b op.Tensor, shape dtype.Shape) op.Tensor {
	return values(shape, append(append([]float32{}, op.Slice[float32](a)...),
		op.Slice[float32](b)...)...)
}

// TestSyncBatchNormsThatDiffer: two layers with one key and other channels are an error.
func TestSyncBatchNormsThatDiffer(t *testing.T) {
	var wg sync.WaitGroup
	errs := make(chan error, 3)
	p, err := nn.SyncBatchNorm.Normalize(nn.SyncBatchNormParams{Key: "differ", NDev: 2})
	if err != nil {
		t.Fatal(err)
	}
	run := func(n int) {
		_, err := optest.Runner{Train: true}.Apply(nn.SyncBatchNorm.Op, p, []op.Tensor{
			random(1, 2, n), random(2, n), random(3, n), random(4, n), positive(5, n)})
		errs <- err
	}
	wg.Go(func() { run(2) })
	wg.Go(func() { run(3) })
	first := <-errs
	if first == nil || !strings.Contains(first.Error(), `"differ" has`) {
		t.Errorf("got error %v", first)
	}
	// the other one still waits: a device with its number of channels ends that
	for _, n := range []int{2, 3} {
		if strings.Contains(errors.Join(first).Error(), map[int]string{2: "has 3 channels here",
			3: "has 2 channels here"}[n]) {
			run(n)
		}
	}
	wg.Wait()
}
