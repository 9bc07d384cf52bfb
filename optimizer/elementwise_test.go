package optimizer_test

import (
	"testing"

	nd "gomx/ndarray"
	"gomx/optimizer"
)

// TestElementwise updates a weight as a whole and in two pieces, by every optimizer without
// randomness.
func TestElementwise(t *testing.T) {
	for _, o := range []optimizer.Optimizer{
		optimizer.SGD{LR: 0.1, Momentum: 0.9, WD: 0.1}, optimizer.NAG{LR: 0.1, Momentum: 0.9},
		optimizer.Adam{LR: 0.1}, optimizer.AdamW{LR: 0.1, WD: 0.1},
		optimizer.AdaGrad{LR: 0.1}, optimizer.RMSProp{LR: 0.1}, optimizer.AdaDelta{},
		optimizer.Ftrl{LR: 0.1}, optimizer.Signum{LR: 0.1},
		optimizer.LAMB{LR: 0.1}, optimizer.LARS{LR: 0.1}, optimizer.LBSGD{LR: 0.1,
			WarmupStrategy: "lars"}, optimizer.LBSGD{LR: 0.1},
	} {
		t.Run(o.Name(), func(t *testing.T) {
			run := func(w, g []float32) []float32 {
				u, err := optimizer.NewUpdater(o, nil)
				if err != nil {
					t.Fatal(err)
				}
				a := nd.FromSlice(w)
				for range 3 {
					if err := u.Update(0, a, nd.FromSlice(g)); err != nil {
						t.Fatal(err)
					}
				}
				v, err := a.Float32s()
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			w, g := []float32{1, -2, 30, 4}, []float32{0.5, 1, -0.25, 8}
			whole := run(w, g)
			pieces := append(run(w[:2], g[:2]), run(w[2:], g[2:])...)
			same := true
			for i := range whole {
				same = same && whole[i] == pieces[i]
			}
			if want := optimizer.Elementwise(o); same != want {
				t.Errorf("whole %v, in pieces %v: Elementwise is %v", whole, pieces, want)
			}
		})
	}
}
