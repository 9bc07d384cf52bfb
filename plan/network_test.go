package plan_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"gomx/device"
	"gomx/dtype"
	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
	"gomx/plan"
	sym "gomx/symbol"
)

// describe describes a network that plans know by name.
func describe(t *testing.T, name string) (*sym.Symbol, map[string]dtype.Shape, *plan.Network) {
	t.Helper()
	m, ok := plan.FindModel(name)
	if !ok {
		t.Fatalf("no network %q", name)
	}
	s := m.Symbol()
	n, err := plan.Describe(s, plan.Training{Shapes: m.Shapes, Threads: device.Cores()})
	if err != nil {
		t.Fatal(err)
	}
	return s, m.Shapes, n
}

// bind binds a network for training.
func bind(t *testing.T, s *sym.Symbol, shapes map[string]dtype.Shape) *sym.Executor {
	t.Helper()
	c := sym.BindConfig{Shapes: shapes, DefaultReq: op.ReqWrite, GradReq: map[string]op.Req{}}
	data, labels := plan.Inputs(s, shapes)
	for _, name := range append(data, labels...) {
		c.GradReq[name] = op.ReqNull
	}
	ex, err := s.SimpleBind(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ex.Close)
	return ex
}

// The predicted memory of the arrays is the memory of an executor.
func TestArraysAreTheExecutors(t *testing.T) {
	for _, name := range plan.ModelNames() {
		s, shapes, n := describe(t, name)
		ex := bind(t, s, shapes)
		use, err := ex.MemoryUse(true)
		if err != nil {
			t.Fatal(err)
		}
		want := plan.Arrays{Arena: use.Arena, Outputs: use.Outputs, Kept: use.Kept}
		for arg, a := range ex.Args {
			if ex.Grads[arg] == nil {
				want.Inputs += int64(a.Bytes())
				continue
			}
			want.Parameters += int64(a.Bytes())
			want.Gradients += int64(ex.Grads[arg].Bytes())
		}
		for _, a := range ex.Aux {
			want.States += int64(a.Bytes())
		}
		if n.Arrays != want {
			t.Errorf("%s: arrays %+v, want %+v", name, n.Arrays, want)
		}
		if n.Batch != shapes["data"][0] || n.FLOPs == 0 {
			t.Errorf("%s: batch %d and %d FLOPs, want %d and more than 0", name, n.Batch, n.FLOPs,
				shapes["data"][0])
		}
	}
}

// Every key is used by a segment of each part, states by the forward part alone; segments need
// earlier segments only.
func TestSegments(t *testing.T) {
	for _, name := range plan.ModelNames() {
		_, _, n := describe(t, name)
		uses := make([]int, len(n.Keys))
		backward := make([]bool, len(n.Keys))
		for i := range n.Segments {
			for _, k := range n.Segments[i].Keys {
				uses[k]++
				backward[k] = backward[k] || i >= n.Forward
			}
			for _, before := range n.Segments[i].Needs {
				if before >= i {
					t.Errorf("%s: segment %d needs segment %d", name, i, before)
				}
			}
		}
		for k := range n.Keys {
			if uses[k] != n.Keys[k].Uses || uses[k] == 0 || !n.Keys[k].State && !backward[k] {
				t.Errorf("%s: %s has %d segments, the key says %d", name, n.Keys[k].Name, uses[k],
					n.Keys[k].Uses)
			}
		}
	}
}

// FLOPs of a step are those of the summary for the forward part, and about twice as many for the
// backward part.
func TestFLOPs(t *testing.T) {
	s, shapes, n := describe(t, "lenet")
	sum, err := sym.Summarize(s, shapes)
	if err != nil {
		t.Fatal(err)
	}
	if r := float64(n.FLOPs) / float64(sum.FLOPs); r < 2 || r > 4 {
		t.Errorf("a step has %d FLOPs, %v times the %d of inference", n.FLOPs, r, sum.FLOPs)
	}
}

// The predicted traffic is the traffic that real processes count, but for receipts and the heads of
// batched messages.
func TestTrafficOfARealJob(t *testing.T) {
	for _, servers := range []int{1, 2} {
		n := &plan.Network{Batch: 1}
		for _, floats := range []int{100_000, 300_000, 20_000, 7_000} {
			n.Keys = append(n.Keys, plan.Key{Name: "k", Bytes: int64(4 * floats),
				DType: dtype.Float32})
		}
		j := plan.Job{Store: "dist_sync", Workers: 2, Servers: servers, Slice: 100_000,
			Machines: plan.Machines{Count: 1, Cores: 2}}
		worker, _ := plan.TrafficOf(n, j)
		got := countTraffic(t, n, &j)
		for try := 0; got.Resends > 0 && try < 5; try++ {
			got = countTraffic(t, n, &j) // on a busy machine messages may be sent twice
		}
		for what, f := range map[string][2]float64{
			"sent":     {got.Sent, float64(worker.Sent)},
			"received": {got.Received, float64(worker.Received)},
		} {
			if got.Resends == 0 && (f[0] < 0.999*f[1] || f[0] > 1.01*f[1]) {
				t.Errorf("%d servers: a step has %s %v bytes, the prediction is %v", servers, what,
					f[0], f[1])
			}
		}
	}
}

// counts is the traffic of a worker in a step.
type counts struct{ Sent, Received, Resends float64 }

// counted reads the traffic of a worker so far.
func counted(ctx context.Context, addr string) (c counts, err error) {
	st, err := kvstore.ReadStatus(ctx, addr)
	if err != nil {
		return c, err
	}
	stats, _ := st.Stats.(map[string]any)
	resends, ok := stats["Resends"].(float64)
	if !ok {
		return c, fmt.Errorf("statistics %v have no resends", st.Stats)
	}
	return counts{float64(st.Transport.SentBytes), float64(st.Transport.ReceivedBytes), resends}, nil
}

// countTraffic runs a job and returns the traffic of worker 0 in a step.
func countTraffic(t *testing.T, n *plan.Network, j *plan.Job) (got counts) {
	t.Helper()
	var mu sync.Mutex
	addrs := map[string]string{}
	c := cluster.Start(cluster.Config{Workers: j.Workers, Servers: j.Servers,
		SliceSize: int(j.Slice), Announce: func(node wire.Node, addr string) {
			mu.Lock()
			defer mu.Unlock()
			addrs[node.String()] = addr
		}})
	err := c.Work(t.Context(), func(ctx context.Context, rank int) error {
		kv, err := kvstore.Open(ctx, j.Store)
		if err != nil {
			return err
		}
		var values []*nd.Array
		for i := range n.Keys {
			v := nd.Zeros(nd.Shape{int(n.Keys[i].Bytes / 4)})
			values = append(values, v)
			if err := kv.Init(ctx, key(i), v); err != nil {
				return err
			}
		}
		if err := kv.SetOptimizer(ctx, optimizer.SGD{LR: 0.1}); err != nil {
			return err
		}
		const rounds = 20
		var before counts
		for step := range 2 * rounds {
			if step == rounds {
				if err := kv.Barrier(ctx); err != nil {
					return err
				}
				mu.Lock()
				addr := addrs[fmt.Sprint("worker ", rank)]
				mu.Unlock()
				if before, err = counted(ctx, addr); err != nil {
					return err
				}
			}
			for i, v := range values {
				if err := kv.PushPull(key(i), -i, []*nd.Array{v}, []*nd.Array{v}); err != nil {
					return err
				}
			}
			for _, v := range values {
				if err := v.Wait(ctx); err != nil {
					return err
				}
			}
		}
		if err := kv.Barrier(ctx); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		after, err := counted(ctx, addrs[fmt.Sprint("worker ", rank)])
		if err != nil {
			return err
		}
		if rank == 0 {
			got = counts{(after.Sent - before.Sent) / rounds,
				(after.Received - before.Received) / rounds, after.Resends - before.Resends}
		}
		return kv.Close()
	})
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Fatal(err)
	}
	return got
}

func key(i int) string { return strings.Repeat("k", i+1) }

// The work of a network does not depend on the names of its variables, and mistakes are errors.
func TestDescribeErrors(t *testing.T) {
	m, _ := plan.FindModel("lenet")
	for name, shapes := range map[string]map[string]dtype.Shape{
		"no shape":      {},
		"unknown input": {"date": {64, 1, 28, 28}},
		"no batch":      {"data": {0, 1, 28, 28}},
		"too few axes":  {"data": {64}},
	} {
		if _, err := plan.Describe(m.Symbol(), plan.Training{Shapes: shapes}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, ok := plan.FindModel("alexnet2"); ok {
		t.Error("found a network that does not exist")
	}
}

// A network without a loss gets one, a network with one stays as it is.
func TestWithLoss(t *testing.T) {
	plain := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 3})
	s := plan.WithLoss(plain)
	if again := plan.WithLoss(s); again != s {
		t.Error("a network with a loss got another one")
	}
	n, err := plan.Describe(s, plan.Training{Shapes: map[string]dtype.Shape{"data": {4, 5}}})
	if err != nil {
		t.Fatal(err)
	}
	if n.Arrays.Parameters != 4*(3*5+3) {
		t.Errorf("parameters have %d bytes, want %d", n.Arrays.Parameters, 4*(3*5+3))
	}
}

// Times for more threads than were measured follow Amdahl's law.
func TestWiden(t *testing.T) {
	n, one := chain(1, 4)
	wide := *n
	wide.Segments = append([]plan.Segment{}, n.Segments...)
	wide.Segments[0].Threads = 4
	all := &plan.Compute{Seconds: []float64{6e-3, 10e-3}}
	c := plan.Widen(&wide, n, one, all, 2, 4)
	// 10 ms on one thread and 6 on two: 2 ms cannot be divided, 8 can.
	if math.Abs(c.Seconds[0]-4e-3) > 1e-12 || math.Abs(c.Seconds[1]-10e-3) > 1e-12 {
		t.Errorf("times %v, want 4 and 10 ms", c.Seconds)
	}
}
