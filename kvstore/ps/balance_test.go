package ps_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/sched"
	"gomx/kvstore/wire"
)

// balanced is a scheduler that takes over a view in which all copies are in sync, and servers that
// say what it wants to hear.
type balanced struct {
	s     *sched.Scheduler
	now   ps.Time
	swaps int
}

// pair of servers: primary and backup of a shard.
type pairOf [2]int

func newBalanced(t *testing.T, servers int, shards []pairOf) *balanced {
	t.Helper()
	v := &wire.View{Job: job, Number: 1, Next: uint32(servers + 2),
		Workers: []wire.Member{{Node: wire.Node{Role: wire.Worker}, Incarnation: 1, Alive: true,
			Nonce: 99}}}
	for i := range servers {
		v.Servers = append(v.Servers, wire.Member{Node: wire.Node{Role: wire.Server,
			Rank: uint16(i)}, Incarnation: uint32(i + 2), Alive: true, Nonce: uint64(i + 1)})
	}
	replica := func(i int) wire.Replica {
		return wire.Replica{Server: uint16(i),
			Incarnation: uint32(i + 2)}
	}
	for _, p := range shards {
		v.Shards = append(v.Shards, wire.Shard{Epoch: 1, Primary: replica(p[0]),
			Backup: replica(p[1]), InSync: true})
	}
	s, err := sched.New(sched.Config{Job: job, Servers: servers, Workers: 1,
		Shards: len(shards), Replicas: 2, View: v})
	if err != nil {
		t.Fatal(err)
	}
	return &balanced{s: s}
}

// leads counts the shards that every server leads.
func (b *balanced) leads() []int {
	n := make([]int, len(b.s.View().Servers))
	for i := range b.s.View().Shards {
		n[b.s.View().Shards[i].Primary.Server]++
	}
	return n
}

// say lets a server send a message to the scheduler.
func (b *balanced) say(server int, m wire.Message) {
	member := b.s.View().Servers[server]
	m.Job, m.From, m.Incarnation = job, member.Node, member.Incarnation
	b.s.Handle(b.now, m.From, &m)
	durable(b.s, b.now)
}

// rest lets servers be heard of and confirm swaps until nothing changes, and calls each after every
// swap.
func (b *balanced) rest(t *testing.T, each func()) {
	t.Helper()
	for range 10000 {
		before := b.s.View().Number
		for i := range b.s.View().Servers {
			b.say(i, heartbeat(b.s.View().Number))
		}
		for i := range b.s.View().Shards {
			if sh := b.s.View().Shards[i]; sh.Swapped {
				b.swaps++
				each()
				m := wire.Message{Type: wire.TypeInSync, Shard: uint32(i), Epoch: sh.Epoch}
				m.SetCopyIncarnation(sh.Backup.Incarnation)
				b.say(int(sh.Primary.Server), m)
			}
		}
		if b.s.View().Number == before {
			return
		}
	}
	t.Fatalf("the scheduler never comes to rest: %v after %d swaps", b.leads(), b.swaps)
}

// bestSpread tries all ways to choose primaries, and returns the smallest maximum and the greatest
// minimum of what servers lead.
func bestSpread(servers int, shards []pairOf) (most, least int) {
	most = len(shards)
	for choice := range 1 << len(shards) {
		n := make([]int, servers)
		for i, p := range shards {
			n[p[choice>>i&1]]++
		}
		most, least = min(most, slices.Max(n)), max(least, slices.Min(n))
	}
	return most, least
}

// TestBalanceIsBest spreads random placements and compares with the best of all: chains of swaps
// over several servers are needed for many. Nobody ever leads more than who led most before.
func TestBalanceIsBest(t *testing.T) {
	chains := 0
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 3))
		servers, shards := 2+rng.IntN(6), make([]pairOf, 1+rng.IntN(10))
		for i := range shards {
			p := rng.IntN(servers)
			shards[i] = pairOf{p, (p + 1 + rng.IntN(servers-1)) % servers}
		}
		b := newBalanced(t, servers, shards)
		before := b.leads()
		most := slices.Max(before)
		b.rest(t, func() {
			if now := slices.Max(b.leads()); now > most {
				t.Errorf("seed %d: somebody leads %d shards on the way, want at most %d", seed, now,
					most)
			} else {
				most = now
			}
		})
		wantMost, wantLeast := bestSpread(servers, shards)
		got := b.leads()
		if slices.Max(got) != wantMost || slices.Min(got) != wantLeast {
			t.Errorf("seed %d: %v leads %v after %d swaps, want between %d and %d", seed, shards,
				got, b.swaps, wantLeast, wantMost)
		}
		given := 0
		for i := range got {
			given += max(0, before[i]-got[i])
		}
		if b.swaps < given {
			t.Fatalf("seed %d: %d swaps, from %v to %v", seed, b.swaps, before, got)
		}
		chains += b.swaps - given
		if len(shards)*servers < b.swaps {
			t.Errorf("seed %d: %d swaps of %d shards on %d servers", seed, b.swaps, len(shards),
				servers)
		}
		if wantMost-wantLeast <= 1 && b.swaps > 0 && slices.Max(before)-slices.Min(before) <= 1 {
			t.Errorf("seed %d: %d swaps for nothing", seed, b.swaps)
		}
	}
	if chains == 0 {
		t.Error("no placement needed a chain of swaps")
	}
}

// TestBalanceAfterARebuild replaces each server of jobs of several sizes, placed as a scheduler
// places them: when its copies are made again nobody leads two shards more than another.
func TestBalanceAfterARebuild(t *testing.T) {
	for servers := 2; servers <= 6; servers++ {
		for _, count := range []int{servers * max(1, servers-1), 4 * servers} {
			for dead := range servers {
				var shards []pairOf
				for i := range count {
					p, b := i%servers, (i%servers+1+i/servers%max(1, servers-1))%servers
					if p == dead {
						p, b = b, p
					}
					shards = append(shards, pairOf{p, b})
				}
				b := newBalanced(t, servers, shards)
				b.rest(t, func() {})
				if got := b.leads(); slices.Max(got)-slices.Min(got) > 1 {
					t.Errorf("%d servers, %d shards, server %d replaced: they lead %v", servers,
						count, dead, got)
				}
			}
		}
	}
}
