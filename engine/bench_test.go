package engine_test

import (
	"math/rand"
	"slices"
	"strconv"
	"testing"
	"time"

	"gomx/engine"
)

func empty(*engine.Run) error { return nil }

// patterns are those of the peer benchmark of MXNet's engine.
var patterns = []struct {
	name string
	uses func(v []*engine.Var, r *rand.Rand) [][]engine.Use
}{
	{"chain", func(v []*engine.Var, _ *rand.Rand) [][]engine.Use {
		return [][]engine.Use{{{Var: v[0], Access: engine.Update}}}
	}},
	{"independent64", func(v []*engine.Var, _ *rand.Rand) (all [][]engine.Use) {
		for i := range 64 {
			all = append(all, []engine.Use{{Var: v[i], Access: engine.Update}})
		}
		return all
	}},
	{"read3write1", func(v []*engine.Var, r *rand.Rand) (all [][]engine.Use) {
		for range 4096 {
			all = append(all, []engine.Use{
				{Var: v[r.Intn(32)]}, {Var: v[32+r.Intn(16)]}, {Var: v[48+r.Intn(8)]},
				{Var: v[56+r.Intn(8)], Access: engine.Update},
			})
		}
		return all
	}},
}

func benchmarkPush(b *testing.B, cfg engine.Config) {
	for _, p := range patterns {
		b.Run(p.name, func(b *testing.B) {
			e := open(b, cfg)
			v := make([]*engine.Var, 64)
			for i := range v {
				v[i] = e.NewVar("v")
			}
			all := p.uses(v, rand.New(rand.NewSource(1)))
			t := engine.Task{Name: "x", Fn: empty, Cheap: true}
			run := func(n int) {
				for i := range n {
					t.Uses = all[i%len(all)]
					e.Push(&t)
				}
				e.WaitAll(bg)
			}
			run(100_000)
			b.ReportAllocs()
			b.ResetTimer()
			run(b.N)
		})
	}
}

func BenchmarkQueue1(b *testing.B) { benchmarkPush(b, engine.Config{Workers: 1, NoInline: true}) }
func BenchmarkQueue2(b *testing.B) { benchmarkPush(b, engine.Config{Workers: 2, NoInline: true}) }
func BenchmarkInline(b *testing.B) { benchmarkPush(b, engine.Config{Workers: 2}) }
func BenchmarkNaive(b *testing.B)  { benchmarkPush(b, engine.Config{Naive: true}) }

func BenchmarkPushWait(b *testing.B) {
	e := open(b, engine.Config{Workers: 2, NoInline: true})
	v := e.NewVar("v")
	t := engine.Task{Name: "x", Fn: empty, Cheap: true,
		Uses: []engine.Use{{Var: v, Access: engine.Update}}}
	b.ReportAllocs()
	for b.Loop() {
		e.Push(&t)
		e.WaitRead(bg, v)
	}
}

// BenchmarkGap waits for an operation that a worker runs, after a pause in which the program
// computes for itself. The metric is the median of the times from push to end; it shows whether the
// worker still watches the inbox after such a pause.
func BenchmarkGap(b *testing.B) {
	for _, gap := range []time.Duration{20 * time.Microsecond, 100 * time.Microsecond,
		150 * time.Microsecond, 400 * time.Microsecond} {
		b.Run(gap.String(), func(b *testing.B) {
			e := open(b, engine.Config{Workers: 2})
			v := e.NewVar("v")
			t := engine.Task{Name: "x", Fn: empty,
				Uses: []engine.Use{{Var: v, Access: engine.Update}}}
			var took []time.Duration
			for b.Loop() {
				for start := time.Now(); time.Since(start) < gap; {
				}
				start := time.Now()
				e.Push(&t)
				e.WaitRead(bg, v)
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2]), "ns/wait")
		})
	}
}

// BenchmarkUses pushes operations with several numbers of uses through the queues.
func BenchmarkUses(b *testing.B) {
	for _, n := range []int{1, 2, 4, 5, 8} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			e := open(b, engine.Config{Workers: 1, NoInline: true})
			t := engine.Task{Name: "x", Fn: empty, Cheap: true}
			for range n {
				t.Uses = append(t.Uses, engine.Use{Var: e.NewVar("v"), Access: engine.Read})
			}
			b.ReportAllocs()
			for b.Loop() {
				e.Push(&t)
			}
			e.WaitAll(bg)
		})
	}
}

// BenchmarkFirst pushes the first operations of an engine, whose records are not pooled yet. The
// engine is stopped meanwhile, so that no record returns.
func BenchmarkFirst(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e, err := engine.New(engine.Config{Workers: 1, NoInline: true})
				if err != nil {
					b.Fatal(err)
				}
				e.Stop()
				t := engine.Task{Name: "x", Fn: empty, Cheap: true,
					Uses: []engine.Use{{Var: e.NewVar("v"), Access: engine.Update}}}
				for range n {
					e.Push(&t)
				}
				e.Close()
			}
		})
	}
}

func BenchmarkNewVar(b *testing.B) {
	e := open(b, engine.Config{Workers: 1})
	b.ReportAllocs()
	for b.Loop() {
		sink = e.NewVar("v")
	}
}

var sink any
