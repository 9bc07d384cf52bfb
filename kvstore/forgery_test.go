package kvstore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gomx/internal/transporttest"
	"gomx/kvstore"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/bulk"
	"gomx/kvstore/transport/mem"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// copiesOf reads the checksums of a server's state.
func (p *pages) copiesOf(t *testing.T, node string) []kvstore.StatusCopy {
	t.Helper()
	_, text := p.get(t, node, "/status?copies")
	var st kvstore.Status
	if err := json.Unmarshal([]byte(text), &st); err != nil {
		t.Fatal(err)
	}
	return st.Copies
}

// transportOf reads the counts of a process's transport.
func (p *pages) transportOf(t *testing.T, node string) transport.Stats {
	t.Helper()
	_, text := p.get(t, node, "/status")
	var st kvstore.Status
	if err := json.Unmarshal([]byte(text), &st); err != nil {
		t.Fatal(err)
	}
	return *st.Transport
}

// TestForgeriesChangeNoState attacks the encrypted connection of a worker while its job trains. No
// attack changes the state of the server, and the sums of the rounds are right.
func TestForgeriesChangeNoState(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	network, p := mem.NewNetwork(1), newPages()
	var attacker *transporttest.Attacker
	listening := make(chan string, 1)
	config := func(n wire.Node) kvstore.JobConfig {
		c := p.config(network, n)
		c.Workers = 1
		if n.Role == wire.Scheduler {
			return c
		}
		o := bulk.Options{Base: c.Open}
		if n.Role == wire.Server {
			o.Listen = "127.0.0.1:0"
		}
		c.Open = func(cfg transport.Config) (transport.Endpoint, error) {
			e, err := bulk.Open(cfg, o)
			switch {
			case err != nil:
				return nil, err
			case n.Role == wire.Server:
				_, lines, _ := strings.Cut(e.Addr(), ";")
				listening <- lines
				return e, nil
			}
			return transporttest.Through{Endpoint: e, Attacker: attacker}, nil
		}
		return c
	}
	var wg sync.WaitGroup
	for _, n := range []wire.Node{{Role: wire.Scheduler}, {Role: wire.Server}} {
		wg.Go(func() {
			if err := kvstore.Serve(ctx, config(n)); err != nil && ctx.Err() == nil {
				t.Errorf("%s: %v", n, err)
			}
		})
	}
	attacker = transporttest.NewAttacker(t, <-listening)
	job, err := kvstore.Join(ctx, config(wire.Node{Role: wire.Worker}))
	if err != nil {
		t.Fatal(err)
	}
	s, err := kvstore.Open(kvstore.WithJob(ctx, job), "dist_sync")
	if err != nil {
		t.Fatal(err)
	}
	const size = 30_000 // of several records
	one, out := nd.Ones(nd.Shape{size}), nd.Zeros(nd.Shape{size})
	if err := errors.Join(s.SetOptimizer(ctx, optimizer.SGD{LR: 1}),
		s.Init(ctx, "a", nd.Zeros(nd.Shape{size}))); err != nil {
		t.Fatal(err)
	}
	rounds := 0
	round := func() {
		t.Helper()
		rounds++
		err := s.PushPull("a", 0, []*nd.Array{one}, []*nd.Array{out})
		if err = errors.Join(err, out.Wait(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	round()
	flip := func(at int) func(r []byte) {
		return func(r []byte) { r[(len(r)+at)%len(r)] ^= 4 }
	}
	first := attacker.Recorded()
	for _, c := range []struct {
		name   string
		inject func() []byte  // when nothing is under way
		change func(r []byte) // of a record with a part of a push
	}{
		{name: "replay", inject: func() []byte { return attacker.Last(true) }},
		{name: "other direction", inject: func() []byte { return attacker.Last(false) }},
		{name: "old key", inject: func() []byte { return first[len(first)-200:] }},
		{name: "made up", inject: func() []byte {
			r := append([]byte{transporttest.ApplicationData, 3, 3, 0, 0}, make([]byte, 200)...)
			binary.BigEndian.PutUint16(r[3:], 200)
			return r
		}},
		{name: "truncation", inject: func() []byte { return nil }},
		{name: "flipped header", change: flip(1)},
		{name: "flipped payload", change: flip(300)},
		{name: "flipped seal", change: flip(-2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, counts := p.copiesOf(t, "server 0"), p.transportOf(t, "server 0")
			noticed := func() bool {
				now := p.transportOf(t, "server 0")
				return now.Forged+now.Truncated > counts.Forged+counts.Truncated
			}
			if c.inject != nil {
				attacker.Inject(c.inject())
				transporttest.Eventually(t, "the count of the attack", noticed)
				if got := p.copiesOf(t, "server 0"); len(got) == 0 || !slices.Equal(got, before) {
					t.Errorf("the state of the server is %v, want %v as before", got, before)
				}
				round()
				return
			}
			var once sync.Once
			attacker.Tamper(func(up bool, r []byte) [][]byte {
				if up && len(r) > 10_000 {
					changed := bytes.Clone(r)
					once.Do(func() { c.change(changed) })
					return [][]byte{changed}
				}
				return [][]byte{r}
			})
			round() // its first try is lost, the second one counts
			attacker.Tamper(nil)
			if !noticed() {
				t.Error("the attack is not counted")
			}
		})
	}
	values, err := out.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		if v != -float32(rounds) {
			t.Fatalf("element %d is %v after %d rounds, each of which takes 1 off", i, v, rounds)
		}
	}
	if err := errors.Join(s.Close(), job.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
}
