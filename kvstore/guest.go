package kvstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
)

// Guests are nodes with ranks from firstGuest: processes that ask for a rank. Two that draw the
// same one tell the answers apart by their nonces.
const firstGuest = 1 << 15

// AskRank asks the scheduler of a job for the rank of this process, a server or worker that nobody
// gave one, and waits until a place is free. The rank in c.Node counts for nothing. The process
// joins with that rank within some seconds; otherwise another one gets it.
func AskRank(ctx context.Context, c JobConfig) (rank int, err error) {
	c.Node.Rank = 0
	if err := c.validate(); err != nil {
		return 0, err
	}
	if c.Node.Role == wire.Scheduler || max(c.Servers, c.Workers) > firstGuest {
		return 0, fmt.Errorf("kvstore: %s of %d servers and %d workers must be given a rank",
			c.Node.Role, c.Servers, c.Workers)
	}
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	me := wire.Hello{Nonce: nonce(), Rank: -1}
	self := wire.Node{Role: c.Node.Role, Rank: uint16(firstGuest + rand.IntN(1<<16-firstGuest))}
	answers := make(chan int32, 1)
	cfg := c.transport()
	cfg.Self, cfg.Log = self, c.Log
	cfg.Handler = func(_ wire.Node, m *wire.Message) {
		h, err := wire.DecodeHello(m.Payload)
		if m.Type != wire.TypeHello || err != nil || h.Nonce != me.Nonce {
			return
		}
		select {
		case answers <- h.Rank:
		default:
		}
	}
	ep, err := c.Open(cfg)
	if err != nil {
		return 0, fmt.Errorf("kvstore: endpoint of a %s without a rank: %w", c.Node.Role, err)
	}
	defer func() {
		if closeErr := ep.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("kvstore: %w", closeErr)
		}
	}()
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	if err := c.connectScheduler(ctx, ep, following.Go); err != nil {
		return 0, fmt.Errorf("kvstore: %w", err)
	}
	return c.askRank(ctx, ep, wire.Message{Type: wire.TypeHello, Job: c.ID, From: self,
		Payload: me.Append(nil)}, answers)
}

// askRank repeats the question until it is answered with a rank.
func (c *JobConfig) askRank(ctx context.Context, ep transport.Endpoint, m wire.Message,
	answers <-chan int32) (int, error) {
	t := time.NewTicker(200 * time.Millisecond)
	defer t.Stop()
	state := "the scheduler at " + c.Scheduler + " does not answer"
	if c.View != nil {
		state = "no scheduler answers"
	}
	for {
		_ = ep.Send(wire.Node{Role: wire.Scheduler}, &m, nil) // lost: repeated
		select {
		case rank := <-answers:
			if rank >= 0 {
				return int(rank), nil
			}
			if text := "all places are taken"; state != text {
				state = text
				c.Log.Warn().Stringer("role",
					c.Node.Role).Msg("waits for a place in the job: all are taken")
			}
			select {
			case <-t.C:
			case <-ctx.Done():
			}
		case <-t.C:
		case <-ctx.Done():
			return 0, fmt.Errorf("kvstore: a %s asks for a rank: %s: %w", c.Node.Role, state,
				context.Cause(ctx))
		}
	}
}
