package server

import "gomx/kvstore/wire"

// Nodes that wait for each other. A server or scheduler that cannot answer yet stays silent the
// first time, answers when it can, and names the node that it waits for when the worker repeats
// itself. So the error of a call whose deadline passes names the node that has not done its part,
// and a call that takes long explains itself in the log.

// tellWaiting tells a worker for which node a message of it waits, if that is known.
func (j *journal) tellWaiting(m *wire.Message, on wire.Node) {
	if on.IsZero() {
		return
	}
	r := j.me.Message(wire.TypeWaiting)
	r.Shard, r.Epoch, r.Key, r.Target = j.id, j.epoch, m.Key, m.Incarnation
	r.SetWait(wire.Wait{On: on, Of: m.Type, Seq: m.Seq})
	j.me.Send(m.From, r, nil)
}

// behind returns the copy that the log waits for, and no node if everything is committed.
func (j *journal) behind() wire.Node {
	if p := j.third; p != nil && p.phase >= ended && p.acked <= j.commit && j.commit < j.next {
		return wire.Node{Role: wire.Server, Rank: p.replica.Server}
	}
	if j.commit < j.next && !j.place.Backup.IsZero() {
		return wire.Node{Role: wire.Server, Rank: j.place.Backup.Server}
	}
	return wire.Node{}
}

// blameRound returns the node that a round of an entry waits for: the lowest rank that has not
// contributed to it or to the open round.
func (j *journal) blameRound(e *entry, clock uint64) wire.Node {
	if clock <= e.closed {
		return j.behind()
	}
	rd := e.open(e.closed + 1)
	for r := range e.starts {
		if j.expects(e, r, e.closed+1) && (rd == nil || !rd.have[r].in) {
			return wire.Node{Role: wire.Worker, Rank: uint16(r)}
		}
	}
	return j.behind()
}

// blamePull returns the node that a parked pull waits for: the backup while the puller's own pushes
// are not committed, otherwise the worker that is furthest behind.
func (pl *pulls) blamePull(p *parked) wire.Node {
	e, from := p.entry, int(p.from.Rank)
	if !e.direct {
		return pl.blameRound(e, p.need)
	}
	if e.clocks[from] < p.own {
		return pl.behind()
	}
	slowest := wire.Node{}
	low := p.need
	for r, clock := range e.clocks {
		if pl.counts(r) && e.starts[r] != never && clock < low {
			slowest, low = wire.Node{Role: wire.Worker, Rank: uint16(r)}, clock
		}
	}
	return slowest
}

// blamePush returns the node that a push waits for which has been taken in: a worker that has not
// contributed to its round, or the backup.
func (in *intake) blamePush(rank int, seq uint64) wire.Node {
	for _, e := range in.order {
		for _, rd := range e.rounds {
			if c := &rd.have[rank]; c.in && c.seq == seq && c.inc == in.ranks[rank].incarnation {
				return in.blameRound(e, rd.clock)
			}
		}
	}
	return in.behind()
}
