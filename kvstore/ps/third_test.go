package ps_test

import (
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
)

// TestAThirdServerThatComesBackGetsCopies kills one of three servers for longer than it takes to
// make its copies anew on the others, and starts it again: it is to get its share of the copies at
// once, and no shard is ever without the copies that it had.
func TestAThirdServerThatComesBackGetsCopies(t *testing.T) {
	for seed := range uint64(20) {
		c := simConfig{servers: 3, workers: 2, shards: 6, replicas: 2, window: 64,
			updater: newMomentum,
			load:    workload{kind: rounds, steps: 40, keys: 3, slices: 2, mom: true},
			think:   ps.Second}
		c.slice = uint64(4 * c.load.elems(c.workers))
		s := newSim(seed, c)
		dead := s.server[seed%3]
		s.after(500*ps.Millisecond, func() { s.kill(dead) })
		s.after(7*ps.Second, func() { s.boot(dead) })
		s.after(12*ps.Second, func() {
			copies := 0
			for i := range s.cfg.shards {
				if _, _, ok := dead.m.(*server.Server).Leads(i); ok {
					copies++
				}
				if _, ok := dead.m.(*server.Server).Follows(i); ok {
					copies++
				}
			}
			if copies != 4 {
				s.fail("%s has %d copies of 12 5 s after it came back, want 4", dead.node, copies)
			}
		})
		if !s.run(100 * ps.Second) {
			s.fail("the programs did not end: %s", s.where())
		} else {
			s.calm = true
			s.rest = s.now + 10*ps.Second
			s.run(s.now + 20*ps.Second)
			s.verify()
		}
		s.report(t)
	}
}
