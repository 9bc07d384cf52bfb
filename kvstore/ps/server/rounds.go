package server

import "gomx/kvstore/wire"

// rounds adds up the pushes of rounds. A server has one for all its shards.
type rounds struct {
	*host
	spare []*round // not in use
}

// round collects the pushes of one clock to one entry. Sums are taken in the order of the ranks, so
// that they do not depend on timing: a push is added when all expected lower ranks have been, and
// kept until then.
type round struct {
	clock uint64
	sum   *buffer
	empty bool // nothing has been added
	done  int  // ranks below are added, or not expected
	n     int  // contributions
	have  []contribution
}

// contribution is one worker's push in a round.
type contribution struct {
	in      bool
	added   bool
	known   bool // an earlier incarnation has sent the values
	codec   uint8
	inc     uint32
	seq     uint64
	payload []byte
	owner   wire.Owner
	copied  []byte // memory for a payload that had no owner
}

func (rs *rounds) newRound(e *entry, clock uint64) *round {
	var rd *round
	if n := len(rs.spare); n > 0 {
		rd = rs.spare[n-1]
		rs.spare = rs.spare[:n-1]
	} else {
		rd = &round{have: make([]contribution, rs.cfg.Workers)}
	}
	rd.clock, rd.sum, rd.empty, rd.done, rd.n = clock, e.pool.get(), true, 0, 0
	return rd
}

// freeRound forgets a round and releases its memory.
func (rs *rounds) freeRound(rd *round) {
	for i := range rd.have {
		c := &rd.have[i]
		rs.letGo(c)
		*c = contribution{copied: c.copied[:0]}
	}
	rd.sum.release()
	rd.sum = nil
	rs.spare = append(rs.spare, rd)
}

// letGo gives back a payload that was kept.
func (rs *rounds) letGo(c *contribution) {
	if c.payload == nil {
		return
	}
	rs.stats.Held -= uint64(len(c.payload))
	if c.owner != nil {
		c.owner.Release()
	}
	c.payload, c.owner = nil, nil
}

// skipRounds gives up rounds before a clock without contributions: all workers that count start
// behind them.
func (rs *rounds) skipRounds(e *entry, clock uint64) {
	if clock <= e.closed+1 {
		return
	}
	last := clock - 1
	for r, start := range e.starts {
		if rs.counts(r) {
			last = min(last, start)
		}
	}
	for _, rd := range e.rounds {
		if rd.n > 0 && rd.clock > e.closed {
			last = min(last, rd.clock-1)
			break
		}
	}
	e.closed = max(e.closed, last)
}

// add adds a payload to the sum.
func (rs *rounds) add(e *entry, rd *round, c *contribution, payload []byte) {
	if rd.empty {
		rs.cfg.Arithmetic.Store(rd.sum.data(), payload, e.dtype, c.codec)
		rd.empty = false
	} else {
		rs.cfg.Arithmetic.Add(rd.sum.data(), payload, e.dtype, c.codec)
	}
	c.added = true
}

// sumUp adds the payloads that are kept, as far as the order of ranks allows. It reports whether
// all expected workers have contributed.
func (rs *rounds) sumUp(e *entry, rd *round) bool {
	for rd.done < len(rd.have) {
		c := &rd.have[rd.done]
		switch {
		case c.in && !c.added:
			rs.add(e, rd, c, c.payload)
			rs.letGo(c)
		case !c.in && rs.expects(e, rd.done, rd.clock):
			return false
		}
		rd.done++
	}
	return true
}

// missing returns the lowest rank that a round waits for, -1 if there is none.
func (rs *rounds) missing(e *entry, rd *round) int {
	for r := range rd.have {
		if !rd.have[r].in && rs.expects(e, r, rd.clock) {
			return r
		}
	}
	return -1
}

// complete reports whether a round can be closed, after adding all that can be added.
func (rs *rounds) complete(e *entry, rd *round) bool {
	if rs.cfg.Backups == 0 {
		return rs.sumUp(e, rd) && rd.n > 0
	}
	expected, counted := 0, 0
	for r := range rd.have {
		if rd.have[r].in || rs.counts(r) {
			counted++
		}
		if rd.have[r].in || rs.expects(e, r, rd.clock) {
			expected++
		}
	}
	// A worker that is about to start is one of the workers that may be left out.
	if rd.n == 0 || rd.n < min(expected, counted-rs.cfg.Backups) {
		return false
	}
	for r := range rd.have {
		if c := &rd.have[r]; c.in && !c.added {
			rs.add(e, rd, c, c.payload)
			rs.letGo(c)
		}
	}
	return true
}
