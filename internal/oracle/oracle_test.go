package oracle_test

import (
	"flag"
	"reflect"
	"regexp"
	"testing"

	"gomx/internal/oracle"
	"gomx/op"
)

var (
	mxnet = flag.String("mxnet", "", "Python interpreter that can import MXNet; without it "+
		"only the generator is tested")
	rounds = flag.Int("oracle.n", 100, "calls of each operator, those that do not fit together "+
		"included")
	seed  = flag.Uint64("oracle.seed", 1, "seed of the first call")
	ops   = flag.String("oracle.ops", "", "pattern of the operators that are called")
	kinds = flag.String("oracle.kinds", oracle.Values+"|"+oracle.Refused,
		"pattern of the kinds of differences that are faults")
)

// operators lists the operators that programs call and -oracle.ops selects, but for operators that
// graphs cannot contain.
func operators() (list []*op.Op) {
	want := regexp.MustCompile(*ops)
	for _, o := range op.All() {
		if !o.Hidden && !o.Resolves() && want.MatchString(o.Name) {
			list = append(list, o)
		}
	}
	return list
}

// TestGenerator draws calls of every operator and runs some here: all operators must be reached,
// and a seed must give one call.
func TestGenerator(t *testing.T) {
	t.Logf("seed %d", *seed)
	reached, ran, total := 0, 0, 0
	for _, o := range operators() {
		found := false
		for n := range uint64(60) {
			c, ok := oracle.Generate(o, *seed+n)
			if !ok {
				continue
			}
			total++
			if again, _ := oracle.Generate(o, *seed+n); !reflect.DeepEqual(again.In, c.In) ||
				again.String() != c.String() {
				t.Errorf("%s: seed %d gives two calls", o.Name, *seed+n)
			}
			if found {
				continue
			}
			found = true
			a := c.Run()
			if a.Error == "" {
				ran++
			}
			if d := c.Compare(a, a); d.Kind != "" {
				t.Errorf("%v differs from itself: %s", c, d.Text)
			}
		}
		if found {
			reached++
		} else {
			t.Errorf("no call of %s fits together", o.Name)
		}
	}
	t.Logf("%d calls of %d operators out of %d, %d of the first ones run", total, reached,
		len(operators()), ran)
}

// TestSparseGenerator draws calls with sparse operands: a seed must give one call, whose answer here
// agrees with itself, and all three ways to call and storage types must come.
func TestSparseGenerator(t *testing.T) {
	t.Logf("seed %d", *seed)
	seen := map[string]bool{}
	for _, o := range operators() {
		for n := range uint64(20) {
			c, ok := oracle.GenerateSparse(o, *seed+n)
			if !ok {
				continue
			}
			again, _ := oracle.GenerateSparse(o, *seed+n)
			if !reflect.DeepEqual(again.In, c.In) || again.String() != c.String() {
				t.Errorf("%s: seed %d gives two calls", o.Name, *seed+n)
			}
			for _, x := range c.In {
				seen[x.Storage.String()] = true
			}
			seen[map[bool]string{true: "tape"}[c.Tape]] = true
			seen[map[bool]string{true: "imperative"}[c.Imperative]] = true
			if a := c.Run(); c.Compare(a, a).Kind != "" {
				t.Errorf("%v differs from itself", c)
			}
			break
		}
	}
	for _, what := range []string{"row_sparse", "csr", "default", "tape", "imperative", ""} {
		if !seen[what] {
			t.Errorf("no call with %q", what)
		}
	}
}

// TestShrink makes a call smaller whose difference needs one attribute only.
func TestShrink(t *testing.T) {
	o := op.Lookup("Pooling")
	for n := range uint64(2000) {
		c, ok := oracle.Generate(o, n)
		if !ok || len(c.Attrs) < 4 || c.Heads == nil || c.Attrs["stride"] == "" {
			continue
		}
		small := c.Shrink(func(s *oracle.Call) bool { return s.Attrs["stride"] != "" })
		if len(small.Attrs) > 2 || small.Heads != nil || small.Train ||
			small.Attrs["stride"] != c.Attrs["stride"] {
			t.Errorf("%v shrinks to %v, want the stride alone", c, small)
		}
		if small.Attrs["stride"] != "" && len(c.Attrs) < 4 {
			t.Error("the call itself was changed")
		}
		return
	}
	t.Fatal("no call with a stride and a gradient")
}

// TestOracle compares with MXNet.
func TestOracle(t *testing.T) {
	compareAll(t, oracle.Generate, oracle.Repeat)
}

// TestOracleSparse compares calls with sparse operands with MXNet.
func TestOracleSparse(t *testing.T) {
	compareAll(t, oracle.GenerateSparse, oracle.Repeat)
}

// compareAll compares the calls that generate draws.
func compareAll(t *testing.T, generate func(*op.Op, uint64) (*oracle.Call, bool),
	repeat func(*op.Op, uint64) string) {
	if *mxnet == "" {
		t.Skip("wants -mxnet PYTHON")
	}
	p := oracle.NewPeer(*mxnet)
	defer p.Close()
	calls, differences := 0, 0
	wanted := regexp.MustCompile("^(" + *kinds + ")$")
	for _, o := range operators() {
		seen, hung, crashed := map[string]bool{}, p.Hangs, p.Crashes
		for n := range uint64(*rounds) {
			c, ok := generate(o, *seed+n)
			if !ok {
				continue
			}
			if p.Hangs >= hung+2 || p.Crashes >= crashed+5 {
				t.Logf("%s: no more calls, MXNet hangs or crashes", o.Name)
				break
			}
			calls++
			d := ask(t, p, c)
			if !wanted.MatchString(d.Kind) || oracle.Known(c, d) != "" {
				continue
			}
			small := c.Shrink(func(s *oracle.Call) bool { return ask(t, p, s).Kind == d.Kind })
			d = ask(t, p, small)
			if key := d.Kind + small.String(); d.Kind == "" || oracle.Known(small, d) != "" ||
				seen[key] || len(seen) >= 3 {
				continue // three of an operator are enough to read
			} else {
				seen[key] = true
			}
			differences++
			t.Errorf("%s: %v\n\t%s\n\trepeat: %s", d.Kind, small, d.Text, repeat(o, *seed+n))
		}
	}
	t.Logf("%d calls, %d differences, MXNet crashed %d times and hung %d times", calls, differences,
		p.Crashes, p.Hangs)
}

// ask computes a call here and there.
func ask(t *testing.T, p *oracle.Peer, c *oracle.Call) oracle.Difference {
	t.Helper()
	want, err := p.Ask(c)
	if err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	if want.Crash != "" {
		t.Logf("MXNet crashes (%s) on %v", want.Crash, c)
	}
	return c.Compare(c.Run(), want)
}

// TestKnown demands that the list of known differences can be read and names operators that exist.
func TestKnown(t *testing.T) {
	if err := oracle.CheckKnown(func(pattern *regexp.Regexp) bool {
		for _, o := range op.All() {
			if pattern.MatchString(o.Name) {
				return true
			}
		}
		return false
	}); err != nil {
		t.Error(err)
	}
}
