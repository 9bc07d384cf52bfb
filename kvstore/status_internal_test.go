package kvstore

import (
	"slices"
	"testing"
	"time"

	"gomx/kvstore/wire"
)

// TestChanges shows views of a job in which a server dies, is taken over and comes back.
func TestChanges(t *testing.T) {
	server := func(rank uint16, in uint32, alive bool) wire.Member {
		return wire.Member{Node: wire.Node{Role: wire.Server, Rank: rank}, Incarnation: in,
			Alive: alive}
	}
	shard := func(primary, backup wire.Replica, sync bool) wire.Shard {
		return wire.Shard{Primary: primary, Backup: backup, InSync: sync}
	}
	a, b, b2 := wire.Replica{Server: 0, Incarnation: 1}, wire.Replica{Server: 1, Incarnation: 2},
		wire.Replica{Server: 1, Incarnation: 3}
	views := []wire.View{
		{Number: 1, Servers: []wire.Member{server(0, 1, true), server(1, 2, true)},
			Shards: []wire.Shard{shard(a, b, true), shard(b, a, true), shard(b, a, true)}},
		{Number: 2, Servers: []wire.Member{server(0, 1, true), server(1, 2, false)},
			Shards: []wire.Shard{shard(a, wire.Replica{}, false), shard(a, wire.Replica{}, false),
				shard(a, wire.Replica{}, false)}},
		{Number: 3, Servers: []wire.Member{server(0, 1, true), server(1, 3, true)},
			Shards: []wire.Shard{shard(a, b2, true), shard(a, b2, false), shard(a, b2, true)}},
		{Number: 4, Group: wire.Group{Number: 1, Round: 8, Ranks: []uint16{0, 2}},
			Servers: []wire.Member{server(0, 1, true), {Node: wire.Node{Role: wire.Server, Rank: 1},
				Incarnation: 3, Left: true}},
			Shards: []wire.Shard{shard(a, b2, true), {Lost: true}, shard(a, b2, true)}},
	}
	var c changes
	var got []string
	for i := range views {
		c.see(&views[i], time.Unix(int64(i), 0))
	}
	for _, x := range c.after(0) {
		got = append(got, x.Kind+": "+x.Text)
	}
	want := []string{
		"dead: server 1 is dead: process 2 was silent for too long",
		"takeover: server 0 takes over shards 1 2 from server 1",
		"joined: server 1 is back as process 3",
		"copy: server 1 has a second copy of shards 0 2",
		"left: server 1 left the job",
		"lost: no copy is left of shard 1",
		"group: rounds wait for the workers [0 2] from round 8 on",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if rest := c.after(6); len(rest) != 1 || rest[0].Kind != "group" || rest[0].View != 4 {
		t.Errorf("after six: %+v", rest)
	}
}
