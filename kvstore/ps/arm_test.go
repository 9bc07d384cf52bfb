package ps_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// TestArmedPushes compares a server whose network adds armed pushes with one that adds all by itself.
func TestArmedPushes(t *testing.T) {
	const total, workers = 3 << 15, 3
	run := func(loop bool, replicas int, seed uint64) ([]byte, int) {
		n, list := newNet(t, 2, workers, replicas, ps.KeySpec{Total: total}, func(c *ps.WorkerConfig) { c.SliceSize = 1 << 15 })
		n.loop = loop
		rng := rand.New(rand.NewPCG(seed, 3))
		outs := buffers(workers, total)
		for step := range 10 {
			for _, i := range rng.Perm(workers) {
				g := make([]byte, total)
				for j := range total / 4 {
					putFloat(g, j, gradient(i, 0, step, j, getFloat(outs[i], j)))
				}
				if _, err := list[i].Push(n.now, ps.PushOp{Key: 1, Value: g, Out: outs[i]}); err != nil {
					t.Fatal(err)
				}
				if rng.IntN(2) == 0 {
					n.settle()
				}
			}
			n.until(t, workers)
		}
		return outs[0], n.absorbed
	}
	for seed := range uint64(5) {
		for _, replicas := range []int{1, 2} {
			want, _ := run(false, replicas, seed)
			got, absorbed := run(true, replicas, seed)
			if !bytes.Equal(got, want) {
				t.Errorf("seed %d, %d copies: sums added by the network differ", seed, replicas)
			}
			if absorbed < 30 {
				t.Errorf("seed %d, %d copies: the network added %d pushes of 90", seed, replicas, absorbed)
			}
		}
	}
}

func TestAbsorbRefusesWhatIsNotArmed(t *testing.T) {
	n, _ := newNet(t, 1, 1, 1, ps.KeySpec{Total: 64}, nil)
	srv := n.machines[wire.Node{Role: wire.Server}].(*ps.Server)
	if err := srv.Absorb(n.now, &wire.Message{Type: wire.TypePush, Key: 1, Seq: 7}); err == nil {
		t.Error("a push with a wrong sequence is absorbed")
	}
	if _, ok := srv.Arm(0, ps.ID{Key: 9}); ok {
		t.Error("an unknown key is armed")
	}
}
