package sched

import (
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// A process that nobody gave a rank asks for one before it joins, as a guest: a node of its role
// whose rank is outside of the job. The scheduler promises it a place that is free, by a hello of
// its own with the guest's nonce and the rank, or with rank -1 while none is. The process joins
// then as any other does.

// promise keeps a place for a guest.
type promise struct {
	nonce uint64
	// of the place's member when it was promised: one that joins makes the promise void
	incarnation uint32
	until       ps.Time
}

// guests promises places to processes without a rank.
type guests struct {
	*desk
	promised map[wire.Node]promise // places that guests have been told to take
}

// promiseLasts is how many Dead intervals a guest may take to join.
const promiseLasts = 10

// guest answers a process that asks for a rank. A repeated question gets the same place, because
// the promise is found by the nonce.
func (gs *guests) guest(from wire.Node, m *wire.Message) {
	h, err := wire.DecodeHello(m.Payload)
	if err != nil || h.Rank != -1 || from.Role != wire.Server && from.Role != wire.Worker {
		gs.out.Report(ps.EventRefused, from, 0, 0, fmt.Sprintf("hello for rank %d: %v", h.Rank,
			err))
		return
	}
	if gs.view.Over() {
		return // too late: the job is over
	}
	list := gs.view.Workers
	if from.Role == wire.Server {
		list = gs.view.Servers
	}
	reply := wire.Hello{Nonce: h.Nonce, Rank: -1}
	if me := gs.freePlace(list, h.Nonce); me != nil {
		gs.promised[me.Node] = promise{h.Nonce, me.Incarnation,
			gs.now + promiseLasts*gs.cfg.Timing.Dead}
		reply.Rank = int32(me.Node.Rank)
	}
	r := gs.message(wire.TypeHello)
	r.Payload = reply.Append(nil)
	gs.send(from, r)
}

// freePlace returns the place that is promised to a nonce, or else the first one that nobody has
// had, or else the first one whose process is dead; nil if there is none.
func (gs *guests) freePlace(list []wire.Member, nonce uint64) *wire.Member {
	var fresh, dead *wire.Member
	for i := range list {
		me := &list[i]
		p, ok := gs.promised[me.Node]
		ok = ok && p.incarnation == me.Incarnation && gs.now <= p.until
		switch {
		case ok && p.nonce == nonce:
			return me
		case ok || me.Alive || me.Left && me.Incarnation != 0:
		case me.Incarnation == 0 && fresh == nil:
			fresh = me
		case me.Incarnation != 0 && dead == nil:
			dead = me
		}
	}
	if fresh != nil {
		return fresh
	}
	return dead
}
