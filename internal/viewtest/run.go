package viewtest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"gomx/kvstore/view"
	"gomx/kvstore/wire"
)

// errSilent is the error of a Memory that refuses writes.
var errSilent = errors.New("viewtest: the store does not answer")

// limit is the longest time of one test.
const limit = 60 * time.Second

// Sample returns a view with a number.
func Sample(number uint64) *wire.View {
	return &wire.View{Job: 1, Number: number, Next: 4,
		Servers: []wire.Member{{Node: wire.Node{Role: wire.Server}, Incarnation: 1, Addr: "a"}},
		Workers: []wire.Member{{Node: wire.Node{Role: wire.Worker}, Incarnation: 2}},
		Shards:  []wire.Shard{{Epoch: 1, Primary: wire.Replica{Incarnation: 1}}}}
}

// Run tests a store. Each call of open opens the store of one job anew, empty; the function that it
// returns opens another client of the same store, as another process does.
func Run(t *testing.T, open func(t *testing.T) (another func() view.Store)) {
	for name, test := range map[string]func(ctx context.Context, t *testing.T,
		another func() view.Store){
		"a view is loaded as it was saved":  testLoad,
		"one candidate leads":               testOneLeads,
		"watchers see every lasting leader": testWatch,
		"a campaign ends with its context":  testCampaignEnds,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			test(ctx, t, open(t))
		})
	}
}

// campaign fails the test unless the candidate leads in the end.
func campaign(ctx context.Context, t *testing.T, s view.Store, addr string) view.Lead {
	t.Helper()
	l, err := s.Campaign(ctx, addr)
	if err != nil {
		t.Fatalf("campaign of %s: %v", addr, err)
	}
	return l
}

// must fails the test at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// load fails the test unless the view has a number; 0 stands for no view.
func load(ctx context.Context, t *testing.T, l view.Lead, want uint64) {
	t.Helper()
	v, err := l.Load(ctx)
	must(t, err)
	if want == 0 {
		if v != nil {
			t.Fatalf("view %d is loaded, want none", v.Number)
		}
		return
	}
	if !reflect.DeepEqual(v, Sample(want)) {
		t.Fatalf("loaded %+v, want %+v", v, Sample(want))
	}
}

func testLoad(ctx context.Context, t *testing.T, another func() view.Store) {
	store := another()
	if v, err := store.Saved(ctx); err != nil || v != nil {
		t.Fatalf("a new store has the view %+v, %v, want none", v, err)
	}
	first := campaign(ctx, t, store, "a")
	load(ctx, t, first, 0)
	for n := range uint64(3) {
		must(t, first.Save(ctx, Sample(n+1)))
	}
	load(ctx, t, first, 3)
	must(t, first.Save(ctx, Sample(4)))
	must(t, first.Resign(ctx))
	other := another()
	if v, err := other.Saved(ctx); err != nil || !reflect.DeepEqual(v, Sample(4)) {
		t.Fatalf("a process that does not lead reads %+v, %v, want view 4", v, err)
	}
	second := campaign(ctx, t, other, "b")
	load(ctx, t, second, 4)
	must(t, second.Save(ctx, Sample(5)))
	must(t, second.Resign(ctx))
}

func testOneLeads(ctx context.Context, t *testing.T, another func() view.Store) {
	const candidates = 3
	leads := make(chan view.Lead, candidates)
	for range candidates {
		go func() {
			if l, err := another().Campaign(ctx, "x"); err == nil {
				leads <- l
			}
		}()
	}
	last := uint64(0)
	for n := range uint64(candidates) {
		l := <-leads
		if l.Term() <= last {
			t.Errorf("term %d follows term %d", l.Term(), last)
		}
		last = l.Term()
		select {
		case <-leads:
			t.Fatal("two candidates lead")
		case <-time.After(200 * time.Millisecond):
		}
		load(ctx, t, l, n)
		must(t, l.Save(ctx, Sample(n+1)))
		must(t, l.Resign(ctx))
	}
}

func testWatch(ctx context.Context, t *testing.T, another func() view.Store) {
	seen := make(chan view.Leader, 10)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	early := another()
	go func() { defer close(ended); early.Watch(ctx, func(l view.Leader) { seen <- l }) }()
	for _, addr := range []string{"tcp://127.0.0.1:1", "b", "b"} {
		l := campaign(ctx, t, another(), addr)
		want := view.Leader{Term: l.Term(), Addr: addr}
		if got := <-seen; got != want {
			t.Errorf("the watcher sees %+v, want %+v", got, want)
		}
		late := make(chan view.Leader, 10)
		watching, stop := context.WithCancel(ctx)
		go another().Watch(watching, func(l view.Leader) { late <- l })
		if got := <-late; got != want {
			t.Errorf("a later watcher sees %+v, want %+v", got, want)
		}
		stop()
		must(t, l.Resign(ctx))
	}
	cancel()
	<-ended
}

func testCampaignEnds(ctx context.Context, t *testing.T, another func() view.Store) {
	l := campaign(ctx, t, another(), "a")
	waiting, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := another().Campaign(waiting, "b"); err == nil {
		t.Error("a second candidate leads")
	}
	must(t, l.Save(ctx, Sample(1)))
	must(t, l.Resign(ctx))
	// The candidate that has given up does not lead.
	again := campaign(ctx, t, another(), "c")
	load(ctx, t, again, 1)
	must(t, again.Resign(ctx))
}
