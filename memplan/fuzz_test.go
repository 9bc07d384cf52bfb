package memplan_test

import (
	"io"
	"testing"

	"gomx/memplan"
)

// decode makes any bytes a plan's input, mostly a sensible one.
func decode(data []byte) ([]memplan.Buffer, []memplan.Step, memplan.Config) {
	next := func() int {
		if len(data) == 0 {
			return 0
		}
		v := data[0]
		data = data[1:]
		return int(v)
	}
	cfg := memplan.Config{Align: int64(next()), SeparateLanes: next()%2 == 1, Rounds: next() - 128}
	buffers := make([]memplan.Buffer, next()%32)
	for i := range buffers {
		b := &buffers[i]
		b.Bytes = int64(next()-2) << (next() % 64)
		b.Start = next() - 1
		b.End = b.Start + next() - 1
		b.Lane, b.Kind, b.Name = next()%3, memplan.Kind(next()), string(data[:min(len(data), 3)])
		b.Values = []memplan.Value{{Name: b.Name, Step: next()}}
	}
	steps := make([]memplan.Step, next()%32)
	list := func() []int {
		out := make([]int, next()%4)
		for i := range out {
			out[i] = next() - 1
		}
		return out
	}
	for i := range steps {
		steps[i] = memplan.Step{Reads: list(), Writes: list(), After: list(), Lane: next() % 3}
	}
	return buffers, steps, cfg
}

func FuzzCompute(f *testing.F) {
	f.Add([]byte{64, 0, 0, 2, 10, 0, 1, 3, 0, 0, 0, 20, 1, 2, 3, 0, 0, 0, 2, 0, 1, 1, 0, 0, 1, 1, 0,
		1, 1, 1})
	f.Add([]byte{1, 1, 200, 3, 3, 62, 1, 1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		buffers, steps, cfg := decode(data)
		plan, err := memplan.Compute(buffers, steps, cfg)
		if err != nil {
			return
		}
		if err := memplan.Verify(buffers, steps, plan); err != nil {
			t.Fatal(err)
		}
		if plan.Total < plan.LowerBound || plan.Total > plan.Naive {
			t.Fatalf("total %d outside %d to %d", plan.Total, plan.LowerBound, plan.Naive)
		}
		if err := plan.SVG(io.Discard, buffers); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzVerify feeds arbitrary plans to the checker, which must not panic.
func FuzzVerify(f *testing.F) {
	f.Add([]byte{64, 0, 0, 2, 10, 0, 1, 3, 0, 0, 0}, int64(0), int64(64), int64(128), 1, 2)
	f.Fuzz(func(t *testing.T, data []byte, a, b, total int64, from, to int) {
		buffers, steps, cfg := decode(data)
		plan := &memplan.Plan{Offsets: make([]int64, len(buffers)), Total: total, LowerBound: a,
			Naive: b, Align: cfg.Align}
		for i := range plan.Offsets {
			plan.Offsets[i] = a + b*int64(i)
		}
		plan.Hazards = [][2]int{{from, to}}
		if err := memplan.Verify(buffers, steps, plan); err == nil &&
			!validPlacement(buffers, plan) {
			t.Fatal("Verify passes a plan that the definition refuses")
		}
	})
}
