package server

import "gomx/kvstore/wire"

// rounds adds up the pushes of rounds. A server has one for all its shards, so that they share
// memory that is not in use.
type rounds struct {
	*host
	spare  []*round         // not in use
	copies map[int][][]byte // memory of copied payloads that is not in use, by its length
}

// round collects the pushes of one clock to one entry. Sums are taken in the order of the ranks, so
// that they do not depend on timing: floating-point addition is not associative. A push is added
// when all expected lower ranks have been, and kept until then.
//
// Invariants:
//  1. Pushes of ranks below done are in sum, or their ranks are not expected.
//  2. sum holds unspecified bytes while empty is set.
//  3. n counts the contributions whose in is set.
type round struct {
	clock uint64
	sum   *buffer        // becomes the payload of the log entry, and then perhaps the value
	rows  []byte         // sum of a sparse key, instead: a wire.Sparse
	empty bool           // nothing has been added
	done  int            // ranks below are added, or not expected
	n     int            // contributions
	have  []contribution // by rank
}

// contribution is one worker's push in a round.
type contribution struct {
	in      bool       // it has come
	added   bool       // it is in the sum
	known   bool       // an earlier incarnation has sent the values
	sparse  bool       // payload is of a sparse key: its length seldom comes again
	codec   uint8      // encoding of payload
	inc     uint32     // incarnation that is told the outcome
	seq     uint64     // of the push, as that incarnation numbers it
	payload []byte     // values until they are added; nil: they are in the sum
	owner   wire.Owner // of payload; nil: payload is copied
}

// newRound returns a round without contributions. Its sum has unspecified contents.
func (rs *rounds) newRound(e *entry, clock uint64) *round {
	var rd *round
	if n := len(rs.spare); n > 0 {
		rd = rs.spare[n-1]
		rs.spare = rs.spare[:n-1]
	} else {
		rd = &round{}
	}
	// Places may have been added since, and shards hear of them one after the other.
	if n := len(e.clocks); n > len(rd.have) {
		rd.have = append(rd.have, make([]contribution, n-len(rd.have))...)
	} else {
		rd.have = rd.have[:n]
	}
	rd.clock, rd.sum, rd.empty, rd.done, rd.n = clock, e.pool.get(), true, 0, 0
	return rd
}

// freeRound forgets a round and releases its memory. The buffer of the sum may live on as a value
// or in a message.
func (rs *rounds) freeRound(rd *round) {
	for i := range rd.have {
		rs.letGo(&rd.have[i])
		rd.have[i] = contribution{}
	}
	rd.sum.release()
	rd.sum = nil
	rs.spare = append(rs.spare, rd)
}

// hold keeps the payload of a push that comes before its turn: where the transport has received it,
// if it lends its memory out, else as a copy.
func (rs *rounds) hold(e *entry, c *contribution, m *wire.Message) {
	var memory []byte
	if list := rs.copies[len(m.Payload)]; m.Owner == nil && len(list) > 0 {
		memory = list[len(list)-1]
		rs.copies[len(m.Payload)] = list[:len(list)-1]
	}
	c.sparse = e.sparse != nil
	c.payload, c.owner = m.Take(memory)
	rs.stats.Held += uint64(len(c.payload))
}

// letGo gives back a payload that was kept: to the transport that has lent it, or for another push
// of its length. The memory of copies is thus no larger than it was needed at one time.
func (rs *rounds) letGo(c *contribution) {
	if c.payload == nil {
		return
	}
	rs.stats.Held -= uint64(len(c.payload))
	switch {
	case c.owner != nil:
		c.owner.Release()
	case !c.sparse:
		if rs.copies == nil {
			rs.copies = map[int][][]byte{}
		}
		rs.copies[len(c.payload)] = append(rs.copies[len(c.payload)], c.payload)
	}
	c.payload, c.owner = nil, nil
}

// skipRounds gives up rounds before a clock without contributions: all workers that count start
// behind them, so nobody will ever push to them, and the round of the clock could never close.
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
	// A round that somebody has contributed to is never given up.
	for _, rd := range e.rounds {
		if rd.n > 0 && rd.clock > e.closed {
			last = min(last, rd.clock-1)
			break
		}
	}
	e.closed = max(e.closed, last)
}

// add adds a payload to the sum, or makes it the sum if it is the first: sums are never cleared.
func (rs *rounds) add(e *entry, rd *round, c *contribution, payload []byte) {
	if e.sparse != nil {
		if payload = e.sparse.Plain(payload, c.codec, rs.cfg.Arithmetic); rd.empty {
			rd.rows = append(rd.rows[:0], payload...)
		} else {
			rd.rows = e.sparse.Merge(rd.rows, payload)
		}
		rd.empty, c.added = false, true
		return
	}
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

// missing returns the lowest rank that a round waits for, -1 if there is none. People read it in
// the status of the job.
func (rs *rounds) missing(e *entry, rd *round) int {
	for r := range rd.have {
		if !rd.have[r].in && rs.expects(e, r, rd.clock) {
			return r
		}
	}
	return -1
}

// complete reports whether a round can be closed, after adding all that can be added. With backup
// workers the sum is taken when the round closes, because which pushes are in it is known only
// then.
func (rs *rounds) complete(e *entry, rd *round) bool {
	for r := len(e.clocks); r < len(rs.me.View.Workers); r++ {
		if rs.counts(r) {
			return false // it is let in by an entry of the log that is not applied yet
		}
	}
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
