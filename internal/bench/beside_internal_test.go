package bench

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gomx/device"
)

// steady is a workload with a figure for each measurement, the last of which repeats.
func steady(name, unit string, figures ...float64) Workload {
	next := 0
	return Workload{Name: name, Unit: unit, Run: func(context.Context) (float64, error) {
		v := figures[min(next, len(figures)-1)]
		next++
		return v, nil
	}}
}

// answers is the script of a peer that answers every line with a figure, and counts its processes
// in a file.
const answers = `while read line; do printf '%s\t10\tus/op\n' "$line"; done`

func sessionSuite(list ...Workload) *Suite {
	return &Suite{Name: "s", Script: "oddconvs.py", variants: alone, sessions: true, floor: 0.9,
		Workloads: func() ([]Workload, error) { return list, nil }}
}

// besideOutput measures a suite in one round and returns its lines without the header.
func besideOutput(t *testing.T, s *Suite, c Config) ([]string, error) {
	t.Helper()
	var b bytes.Buffer
	c.Suite, c.Out = s.Name, &b
	if c.Rounds == 0 {
		c.Rounds = 1
	}
	err := s.beside(t.Context(), &c)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if header := lines[0]; err == nil && (!strings.HasPrefix(header, "# gomx bench s on ") ||
		!strings.Contains(header, device.Processor())) {
		t.Errorf("got header %q, want the suite and the processor", header)
	}
	return lines[1:], err
}

func TestLowLinesAreRepeatedAtTheEnd(t *testing.T) {
	s := sessionSuite(steady("a.one", "us/op", 20, 8), steady("a.two", "us/op", 5),
		steady("a.three", "us/op", 40))
	got, err := besideOutput(t, s, Config{Peers: []Peer{fakePeer(t, "mxnet", answers)}})
	want := []string{
		"# a.one: ratio 0.500 is below 0.90, measured once more at the end, alone",
		"a.two\t5\t10\t2.00\tus/op\tmxnet",
		"# a.three: ratio 0.250 is below 0.90, measured once more at the end, alone",
		"# 2 lines were below 0.90; here they are once more, each measured alone",
		"a.one\t8\t10\t1.25\tus/op\tmxnet",
		"a.three\t40\t10\t0.25\tus/op\tmxnet",
		"s.geomean.mxnet\t-\t-\t0.855\tratio\tmxnet",
		"s.geomean\t-\t-\t0.855\tratio\tmxnet",
	}
	if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("error %v, got\n%s\nwant\n%s", err, strings.Join(got, "\n"),
			strings.Join(want, "\n"))
	}
}

// TestOneProcessAnswersAllLines counts the processes: one for all lines, one more for the line that
// is repeated.
func TestOneProcessAnswersAllLines(t *testing.T) {
	peer := fakePeer(t, "mxnet", `n=$(cat "$0.n" 2>/dev/null || echo 1); echo $((n + 1)) > "$0.n"
while read line; do printf '%s\t'$n'\tus/op\n' "$line"; done`)
	s := sessionSuite(steady("a.one", "us/op", 1), steady("a.two", "us/op", 0.5),
		steady("a.three", "us/op", 2))
	got, err := besideOutput(t, s, Config{Rounds: 2, Peers: []Peer{peer}})
	want := "a.one\t1\t1\t1.00\tus/op\tmxnet|a.two\t0.5\t1\t2.00\tus/op\tmxnet|a.three\t2\t2\t1.00\tus/op\tmxnet"
	var lines []string
	for _, l := range got {
		if strings.HasPrefix(l, "a.") {
			lines = append(lines, l)
		}
	}
	if err != nil || strings.Join(lines, "|") != want {
		t.Errorf("error %v, got %q, want %q", err, lines, want)
	}
}

func TestMeansAgainstEachPeerAndTheBetter(t *testing.T) {
	var m means
	var out bytes.Buffer
	for _, theirs := range [][2]float64{{10, 20}, {40, 5}} {
		r := &result{ours: 20, by: map[string]float64{"mxnet": theirs[0], "torch": theirs[1]},
			best: max(theirs[0], theirs[1])}
		m.add(&Workload{Unit: "images/s"}, r)
	}
	m.print(&out, "s")
	want := "s.geomean.mxnet\t-\t-\t1.000\tratio\tmxnet\ns.geomean.torch\t-\t-\t2.000\tratio\ttorch\ns.geomean\t-\t-\t0.707\tratio\tbest\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	out.Reset()
	(&means{}).print(&out, "s")
	if out.Len() > 0 {
		t.Errorf("no peers: got %q, want nothing", out.String())
	}
}

func TestSessionFailures(t *testing.T) {
	for _, tt := range []struct{ name, script, want string }{
		{"complains", `read line; printf '%s\terror\tno such shape\n' "$line"`, "w: no such shape"},
		{"ends", `read line; echo out of memory >&2; exit 3`, "out of memory"},
		{"another line", `read line; printf 'v\t1\tus/op\n'`, `the answer to w is "v\t1\tus/op\n"`},
		{"no number", `read line; printf 'w\tfast\tus/op\n'`, "want a figure above 0"},
		{"zero", `read line; printf 'w\t0\tus/op\n'`, "want a figure above 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := besideOutput(t, sessionSuite(steady("w", "us/op", 1)),
				Config{Peers: []Peer{fakePeer(t, "mxnet", tt.script)}})
			if err == nil || !strings.Contains(err.Error(), tt.want) ||
				!strings.Contains(err.Error(), "mxnet") {
				t.Errorf("got %v, want the peer and %q", err, tt.want)
			}
		})
	}
}

// TestSilentSessionsEnd gives up waiting for a peer that never answers.
func TestSilentSessionsEnd(t *testing.T) {
	s, err := startSession(command{path: fakePeer(t, "mxnet", "exec sleep 600").Python}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.ask(ctx, "w"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
}

func TestChosen(t *testing.T) {
	s := sessionSuite(steady("s.a.one", "us/op", 1), steady("s.a.two", "us/op", 1),
		steady("s.b.one", "us/op", 1))
	s.sampled = true
	for _, tt := range []struct {
		c    Config
		want int
	}{{Config{}, 2}, {Config{All: true}, 3}, {Config{All: true, Match: "one"}, 2},
		{Config{Match: "b."}, 1}} {
		list, _, err := s.chosen(&tt.c)
		if err != nil || len(list) != tt.want {
			t.Errorf("%+v: got %d workloads and error %v, want %d", tt.c, len(list), err, tt.want)
		}
	}
	if _, _, err := s.chosen(&Config{Match: "nothing"}); err == nil ||
		!strings.Contains(err.Error(), `"nothing"`) || !strings.Contains(err.Error(), "--all") {
		t.Errorf("got %v, want the pattern and --all", err)
	}
}

// TestProcessorCost measures a step that computes and one that sleeps: sleeping costs nothing.
func TestProcessorCost(t *testing.T) {
	wait := func(context.Context) error { return nil }
	sink := 0.0
	busy, err := processorCost(t.Context(), func() error {
		for i := range 200_000 {
			sink += float64(i)
		}
		return nil
	}, wait)
	if err != nil {
		t.Fatal(err)
	}
	idle, err := processorCost(t.Context(),
		func() error { time.Sleep(200 * time.Microsecond); return nil }, wait)
	if err != nil {
		t.Fatal(err)
	}
	if busy <= idle || idle > 150 {
		t.Errorf("%v us of computing, %v us of sleeping for 200 us, of %v", busy, idle, sink)
	}
}
