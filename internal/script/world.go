package script

import (
	"strconv"

	"gomx/kvstore/wire"
)

// World is the job of a script as its scheduler sees it. Its processes have the incarnations and
// nonces 1, 2 and so on for servers, and 10, 11 and so on for workers.
type World struct{ View *wire.View }

// NewWorld returns a job in which all processes live and server 0 leads all shards.
func NewWorld(servers, workers, shards int) *World {
	v := &wire.View{Job: 1, Number: 1, Next: 30}
	for i := range servers {
		v.Servers = append(v.Servers, wire.Member{Node: wire.Node{Role: wire.Server,
			Rank: uint16(i)}, Incarnation: uint32(1 + i), Alive: true, Nonce: uint64(1 + i)})
	}
	for i := range workers {
		v.Workers = append(v.Workers, wire.Member{Node: wire.Node{Role: wire.Worker,
			Rank: uint16(i)}, Incarnation: uint32(10 + i), Alive: true, Nonce: uint64(10 + i)})
	}
	for range shards {
		v.Shards = append(v.Shards, wire.Shard{Epoch: 1, Primary: wire.Replica{Incarnation: 1}})
	}
	return &World{v}
}

// Change makes a new view of a line such as "place shard=0 backup=1 insync", "member w1 dead" or
// "group number=1 ranks=0,2 round=4". It reports whether the line is one. A worker that the job
// does not have is added if its rank is the next one.
func (w *World) Change(words []string) bool {
	o := Parse(words[1:])
	switch words[0] {
	case "place":
		w.place(o)
	case "member":
		w.member(o)
	case "group":
		w.group(o)
	default:
		return false
	}
	w.View.Number++
	return true
}

// place changes the place of a shard. Words without a value are false where they are missing.
func (w *World) place(o Options) {
	sh := &w.View.Shards[o.Number("shard", 0)]
	sh.Primary, sh.Backup = w.copyAt(o, "primary", sh.Primary), w.copyAt(o, "backup", sh.Backup)
	sh.Epoch = o.Number("epoch", sh.Epoch)
	sh.InSync, sh.Swapped, sh.Lost = o.Has("insync"), o.Has("swapped"), o.Has("lost")
}

func (w *World) copyAt(o Options, name string, old wire.Replica) wire.Replica {
	switch {
	case !o.Has(name):
		return old
	case o[name] == "none":
		return wire.Replica{}
	}
	rank := o.Number(name, 0)
	return wire.Replica{Server: uint16(rank), Incarnation: w.View.Servers[rank].Incarnation}
}

// member changes a process.
func (w *World) member(o Options) {
	n, ok := NodeOf(o.First())
	if !ok {
		panic("no such member")
	}
	if list := &w.View.Workers; n.Role == wire.Worker && int(n.Rank) == len(*list) {
		*list = append(*list, wire.Member{Node: n})
	}
	m := w.View.Member(n)
	m.Incarnation = uint32(o.Number("inc", uint64(m.Incarnation)))
	m.Nonce = o.Number("nonce", m.Nonce)
	m.Alive, m.Left = !o.Has("dead"), o.Has("left")
	m.Waits, m.Leaves = o.Has("waits"), o.Has("leaves")
	m.Enter = uint32(o.Number("enter", uint64(m.Enter)))
}

// group changes the group.
func (w *World) group(o Options) {
	w.View.Group = wire.Group{Number: o.Number("number", 0), Round: o.Number("round", 0)}
	for _, rank := range o.Numbers("ranks") {
		w.View.Group.Ranks = append(w.View.Group.Ranks, uint16(rank))
	}
}

// NodeOf reads s1, w0 or scheduler; n0 is a node without a role.
func NodeOf(name string) (wire.Node, bool) {
	if name == "scheduler" {
		return wire.Node{Role: wire.Scheduler}, true
	}
	if len(name) < 2 {
		return wire.Node{}, false
	}
	rank, err := strconv.Atoi(name[1:])
	role := map[byte]wire.Role{'s': wire.Server, 'w': wire.Worker, 'n': wire.NoRole}
	r, ok := role[name[0]]
	return wire.Node{Role: r, Rank: uint16(rank)}, err == nil && ok
}
