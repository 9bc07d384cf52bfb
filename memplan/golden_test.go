package memplan_test

import (
	"bytes"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/internal/golden"
	"gomx/memplan"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// compareGolden compares a text with a file of testdata/golden.
func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	golden.Compare(t, filepath.Join("testdata", "golden", name), got, *rewrite)
}

// write spells a plan: a line for each buffer, part and hazard.
func write(w io.Writer, buffers []memplan.Buffer, p *memplan.Plan) {
	fmt.Fprintf(w, "%v\n", p)
	for i, b := range buffers {
		fmt.Fprintf(w, "buffer %d %s: %d bytes of lane %d at %d, steps %d to %d\n", i, b.Name,
			b.Bytes, b.Lane, p.Offsets[i], b.Start, b.End)
	}
	for _, l := range p.Lanes {
		fmt.Fprintf(w, "lane %d: %d bytes at %d\n", l.Lane, l.Bytes, l.Offset)
	}
	for _, h := range p.Hazards {
		fmt.Fprintf(w, "step %d waits for step %d\n", h[1], h[0])
	}
}

// unit is a residual unit: conv, norm and activation in place, and a sum that reads the input too.
func unit() ([]memplan.Buffer, []memplan.Step) {
	buffers := []memplan.Buffer{
		{Name: "x", Bytes: 1000, Start: 0, End: 4},
		{Name: "conv1", Bytes: 1000, Start: 1, End: 3,
			Values: []memplan.Value{{Name: "conv1", Step: 1}, {Name: "relu1", Step: 2}}},
		{Name: "scratch", Bytes: 3000, Start: 1, End: 1, Kind: memplan.Scratch},
		{Name: "conv2", Bytes: 1000, Start: 3, End: 4},
		{Name: "scratch", Bytes: 3000, Start: 3, End: 3, Kind: memplan.Scratch},
		{Name: "sum", Bytes: 1000, Start: 4, End: 5, Kind: memplan.Output},
		{Name: "shape", Bytes: 0, Start: 1, End: 5},
		{Name: "side", Bytes: 500, Start: 2, End: 5},
	}
	steps := []memplan.Step{
		{Name: "x", Writes: []int{0}},
		{Name: "conv1", Reads: []int{0}, Writes: []int{1, 2, 6}, After: []int{0}},
		{Name: "relu1", Reads: []int{1}, Writes: []int{1, 7}, After: []int{1}},
		{Name: "conv2", Reads: []int{1}, Writes: []int{3, 4}, After: []int{2}},
		{Name: "sum", Reads: []int{0, 3}, Writes: []int{5}, After: []int{0, 3}},
		{Name: "read", Reads: []int{5, 6, 7}, After: []int{4, 2}},
	}
	return buffers, steps
}

func TestGoldenPlans(t *testing.T) {
	var text strings.Builder
	show := func(name string, buffers []memplan.Buffer, steps []memplan.Step, c memplan.Config) {
		fmt.Fprintf(&text, "%s: ", name)
		write(&text, buffers, mustCompute(t, buffers, steps, c))
	}
	buffers, steps := unit()
	show("residual unit", buffers, steps, memplan.Config{})
	show("residual unit, packed", buffers, steps, memplan.Config{Align: 1})
	for i := range steps {
		steps[i].Lane = 1
	}
	show("residual unit on a stream", buffers, steps, memplan.Config{})
	for i := range buffers {
		buffers[i].Lane = i % 3
	}
	show("residual unit on three devices", buffers, steps, memplan.Config{SeparateLanes: true})
	for seed := range uint64(4) {
		buffers, steps := program(newRand(seed), 12)
		show(fmt.Sprint("random program ", seed), buffers, steps, memplan.Config{})
	}
	compareGolden(t, "plans.txt", text.String())
}

// TestGoldenSums plans networks and random intervals, each with several settings, and compares
// totals and a sum over all offsets: the same input gives the same plan on every machine.
func TestGoldenSums(t *testing.T) {
	var text strings.Builder
	show := func(name string, buffers []memplan.Buffer, c memplan.Config) {
		p := mustCompute(t, buffers, nil, c)
		h := fnv.New32a()
		for _, o := range p.Offsets {
			fmt.Fprintln(h, o)
		}
		fmt.Fprintf(&text, "%s, rounds %d: total %d, bound %d, naive %d, offsets %08x\n", name,
			c.Rounds, p.Total, p.LowerBound, p.Naive, h.Sum32())
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("testdata/alternating/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Concat(files, more) {
		for _, rounds := range []int{0, -1} {
			show(filepath.Base(file), profile(t, file), memplan.Config{Rounds: rounds})
		}
	}
	for seed := range uint64(12) {
		r := newRand(seed)
		n := 5 << (seed % 6)
		buffers := intervals(r, n, n, 1000)
		for _, rounds := range []int{0, -1, 9} {
			show(fmt.Sprint(n, " intervals, seed ", seed), buffers,
				memplan.Config{Rounds: rounds, Align: 16})
		}
	}
	compareGolden(t, "sums.txt", text.String())
}

// TestGoldenPicture draws buffers of every kind and size.
func TestGoldenPicture(t *testing.T) {
	buffers, steps := unit()
	buffers = append(buffers,
		memplan.Buffer{Bytes: 900, Start: 4, End: 4, Kind: memplan.Gradient},
		memplan.Buffer{Bytes: 700, Start: 5, End: 9, Kind: memplan.Copy,
			Name: "a name that is longer than its rectangle, which shows only the end of it"},
		memplan.Buffer{Bytes: 800, Start: 20, End: 22, Kind: 5, Name: "kind"},
		memplan.Buffer{Bytes: 10, Start: 21, End: 21, Name: "thin"},
		memplan.Buffer{Bytes: 1, Start: 11, End: 17, Name: "byte"},
		memplan.Buffer{Bytes: 1200, Start: 21, End: 23, Name: "chain",
			Values: []memplan.Value{{Name: "a", Step: 20}, {Name: "b", Step: 21},
				{Name: "c", Step: 22}, {Name: "d", Step: 23}, {Name: "e", Step: 24}}})
	for len(steps) < 24 {
		steps = append(steps, memplan.Step{})
	}
	var picture bytes.Buffer
	if err := mustCompute(t, buffers, steps, memplan.Config{}).SVG(&picture, buffers); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "unit.svg", picture.String())
	large := []memplan.Buffer{{Bytes: 3 << 30, Start: 100, End: 2400, Name: "one"},
		{Bytes: 5 << 20, Start: 2400, End: 5000, Name: "two", Kind: memplan.Gradient}}
	picture.Reset()
	if err := mustCompute(t, large, nil, memplan.Config{}).SVG(&picture, large); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "large.svg", picture.String())
	picture.Reset()
	if err := mustCompute(t, nil, nil, memplan.Config{}).SVG(&picture, nil); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "nothing.svg", picture.String())
}
