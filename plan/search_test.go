package plan_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"path/filepath"
	"testing"

	"gomx/internal/golden"
	"gomx/kvstore/compress"
	"gomx/plan"
)

var rewrite = flag.Bool("rewrite", false, "write the texts of testdata anew")

// space is a set of configurations of two machines, some of which do not fit.
func space() plan.Space {
	return plan.Space{Workers: []int{1, 2, 4}, Servers: []int{1, 2}, Batches: []int{10},
		Compressions: []compress.Method{{}, {Kind: compress.TwoBit}},
		Machines: plan.Machines{Count: 2, Cores: 2, Memory: 100 << 20,
			Link: plan.Link{Bandwidth: 1e8, Latency: 1e-4}}}
}

// profile gives all configurations the same work.
func profile(int, int) (*plan.Network, *plan.Compute, error) {
	n, c := chain(3, 1<<20)
	c.Memory = 40 << 20
	return n, c, nil
}

// The table and the sentence below it.
func TestTable(t *testing.T) {
	h := hand()
	h.Memory = plan.HostMemory{{Workers: 1, Keys: 0, Store: 8 << 20, Server: 20 << 20},
		{Workers: 1, Keys: 1 << 20, Store: 9 << 20, Server: 24 << 20}}
	h.RingMemory = h.Memory[:1]
	list, err := plan.Propose(space(), h, profile, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		if !a.Fits() && b.Fits() || a.Fits() == b.Fits() && a.Throughput < b.Throughput {
			t.Errorf("line %d with %v samples/s stands before one with %v", i, a.Throughput,
				b.Throughput)
		}
	}
	var text bytes.Buffer
	if err := plan.WriteTable(&text, list); err != nil {
		t.Fatal(err)
	}
	if err := plan.WriteBest(&text, list); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, filepath.Join("testdata", "table.txt"), text.String(), *rewrite)
	text.Reset()
	if err := plan.WriteJSON(&text, list); err != nil {
		t.Fatal(err)
	}
	var rows []map[string]any
	if err := json.Unmarshal(text.Bytes(), &rows); err != nil || len(rows) != len(list) {
		t.Fatalf("%d objects, %v, want %d", len(rows), err, len(list))
	}
	if rows[0]["samples_per_second"] != list[0].Throughput || rows[0]["limit"] != list[0].Limit {
		t.Errorf("first object %v, want the figures of the first prediction", rows[0])
	}
}

// Without lists, the space has every store and the numbers of workers that the cores allow; when
// nothing fits, the sentence says how much memory would do.
func TestDefaults(t *testing.T) {
	s := plan.Space{Batches: []int{10}, Machines: plan.Machines{Count: 1, Cores: 3, Memory: 1}}
	list, err := plan.Propose(s, hand(), profile, 1)
	if err != nil {
		t.Fatal(err)
	}
	stores, workers := map[string]bool{}, map[int]bool{}
	for _, p := range list {
		stores[p.Job.Store], workers[p.Job.Workers] = true, true
		if p.Limit != plan.LimitMemory {
			t.Errorf("%v: limit %q, want memory", &p.Job, p.Limit)
		}
	}
	if len(stores) != len(plan.Stores()) || len(workers) != 3 {
		t.Errorf("stores %v and numbers of workers %v, want 4 and 3", stores, workers)
	}
	var text bytes.Buffer
	if err := plan.WriteBest(&text, list); err != nil {
		t.Fatal(err)
	}
	if want := "No job fits: the smallest need is 40 MiB on a machine.\n"; text.String() != want {
		t.Errorf("got %q, want %q", text.String(), want)
	}
}
