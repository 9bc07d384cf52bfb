package bench

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gomx/internal/cluster"
)

// TestStalenessWorkers trains both models with workers of this process, without and with staleness.
func TestStalenessWorkers(t *testing.T) {
	for _, p := range []stalenessPlan{
		{Model: "matrix", Rows: 30, Columns: 2, Samples: 300, Batch: 100, Clocks: 60, Rate: 0.03,
			Points: 12},
		{Model: "matrix", Rows: 30, Columns: 2, Samples: 300, Batch: 100, Clocks: 60, Rate: 0.03,
			Points: 12, Staleness: 3},
		{Model: "logistic", Columns: 100, Samples: 300, Batch: 50, Clocks: 60, Rate: 0.03,
			Points: 12, Staleness: 3},
		{Model: "logistic", Columns: 100, Samples: 300, Batch: 50, Mini: 1, Clocks: 20, Rate: 0.003,
			Points: 2, Staleness: 3},
	} {
		p.Workers, p.Step, p.Slow = 3, time.Microsecond, 4
		var mu sync.Mutex
		var list []*stalenessRun
		c := cluster.Start(cluster.Config{Workers: 3})
		err := c.Work(t.Context(), func(ctx context.Context, _ int) error {
			r, err := p.work(ctx)
			mu.Lock()
			defer mu.Unlock()
			list = append(list, r)
			return err
		})
		if err := errors.Join(err, c.Wait()); err != nil {
			t.Fatal(err)
		}
		j, err := p.join(list)
		if err != nil {
			t.Fatal(err)
		}
		first, last := j.points[0], j.last()
		if !(last.Loss < 0.7*first.Loss) || last.At <= 0 || j.rate <= 0 {
			t.Errorf("%+v: losses %v, %v samples/s, want a loss below 0.7 of the first", p, j.points,
				j.rate)
		}
		if n := len(j.points); n < p.Points || n > p.Points+1 {
			t.Errorf("%+v: %d losses, want %d", p, n, p.Points)
		}
	}
	if _, err := (&stalenessPlan{Model: "tree"}).model(0); err == nil {
		t.Error("a model that does not exist: no error")
	}
}

// TestStalenessTurns: in each clock another worker is slow.
func TestStalenessTurns(t *testing.T) {
	p := stalenessPlan{Workers: 3, Step: time.Second, Slow: 4}
	for clock := range 6 {
		for rank := range 3 {
			want := time.Second
			if clock%3 == rank {
				want = 5 * time.Second
			}
			if got := p.lasts(rank, clock); got != want {
				t.Errorf("clock %d of worker %d lasts %v, want %v", clock, rank, got, want)
			}
		}
	}
}

// TestStalenessCurves joins reports of workers that measure at different times.
func TestStalenessCurves(t *testing.T) {
	p := stalenessPlan{Workers: 2, Clocks: 10, Batch: 5}
	j, err := p.join([]*stalenessRun{
		{Seconds: 5, Points: []stalenessPoint{{0, 8}, {2, 4}, {4, 2}}},
		{Seconds: 10, Points: []stalenessPoint{{0, 8}, {8, 0}}}})
	if err != nil {
		t.Fatal(err)
	}
	want := []stalenessPoint{{0, 8}, {2, 5}, {4, 3}}
	for i, p := range want {
		if j.points[i] != p {
			t.Errorf("points %v, want %v", j.points, want)
			break
		}
	}
	if j.rate != 10+5 {
		t.Errorf("%v samples/s, want 15", j.rate)
	}
	for _, tt := range []struct{ loss, at float64 }{{9, 0}, {8, 0}, {6.5, 1}, {3, 4},
		{2.9, math.Inf(1)}} {
		if got := j.reaches(tt.loss); got != tt.at {
			t.Errorf("the loss %v is reached after %v, want %v", tt.loss, got, tt.at)
		}
	}
	for _, list := range [][]*stalenessRun{nil, {{Seconds: 1}, {Seconds: 1}}} {
		if _, err := p.join(list); err == nil {
			t.Errorf("%v joins", list)
		}
	}
}

// TestStalenessPages writes the page of made-up figures twice.
func TestStalenessPages(t *testing.T) {
	var list []*stalenessResult
	for _, sc := range stalenessCases() {
		r := &stalenessResult{stalenessCase: sc}
		for round := range 3 {
			slope := float64(1 + sc.plan.Staleness*(round+1))
			if sc.plan.Staleness == 10 {
				slope = 0.5
			}
			r.rounds = append(r.rounds, &stalenessJob{rate: 1000 * float64(round+1),
				points: []stalenessPoint{{0, 8}, {1, 8 - slope}}})
		}
		list = append(list, r)
	}
	dir := t.TempDir()
	page := filepath.Join(dir, stalenessPage)
	if err := os.WriteFile(page, []byte("# Title\n\n"+stalenessHeading+"\n\nold\n\n## Next\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := writeStalenessPages(dir, list); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Title\n", "\n## Next\n", "medians of 3 rounds",
		"| matrix factorization | 0 | 2,000 | 1.00 | 1.00 |",
		"| logistic regression | 3 | 2,000 | 0.14 | 0.14 |",
		"| matrix factorization | 10 | 2,000 | not reached | not reached |",
		"| 1 | 3 | 2,000 | 8.000, 1.000 |", "](staleness.svg)"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "old") {
		t.Error("the page keeps the old section")
	}
	picture, err := os.ReadFile(filepath.Join(dir, stalenessPicture))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"logistic regression: mean loss", ">staleness 10<", ">seconds<"} {
		if !strings.Contains(string(picture), want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
}

// TestStalenessMisuse: the suite has no peers, and its page needs all figures.
func TestStalenessMisuse(t *testing.T) {
	for want, c := range map[string]Config{
		"no script for peer mxnet": {Peers: []Peer{{"mxnet", "x"}}},
		"--docs with --match":      {Docs: "docs", Match: "matrix"},
		"--match selects no case":  {Match: "none"},
	} {
		c.Suite, c.Out = "staleness", io.Discard
		if err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestLines(t *testing.T) {
	var b strings.Builder
	err := drawLines(&b, "loss <over> time", "seconds", []linePanel{
		{title: "one", series: []lineSeries{{"a", []float64{0, 10}, []float64{4, 2}},
			{"b", []float64{0, 5}, []float64{4, 1}}}},
		{title: "two", series: []lineSeries{{"a", []float64{0}, []float64{0}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"loss &lt;over&gt; time", ">one<", ">two<", ">b<", ">seconds<",
		`d="M70.0 80.0L630.0 190.0"`, `d="M70.0 80.0L350.0 245.0"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the picture lacks %q:\n%s", want, b.String())
		}
	}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := drawLines(io.Discard, "x", "y", []linePanel{{series: []lineSeries{{name: "a",
		x: []float64{1}}}}}); err == nil {
		t.Error("a line of one x and no y: no error")
	}
	for most, want := range map[float64]int{0: 1, 1: 6, 0.3: 4, 7.5: 4, 42: 5, 99: 5} {
		if got := marks(most); len(got) != want || got[len(got)-1] > most*1.000001 {
			t.Errorf("marks up to %v are %v, want %d", most, got, want)
		}
	}
}
