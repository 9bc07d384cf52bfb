package transport

import "sync/atomic"

// Stats counts the messages of an endpoint, and the dropped ones by reason.
type Stats struct {
	Sent, SentBytes         uint64 // messages, and bytes of their payloads
	Received, ReceivedBytes uint64
	Shared                  uint64 // sent messages whose payload went through shared memory
	Refused                 uint64 // sends that returned ErrBusy or ErrUnreachable

	Garbage  uint64 // dropped: not a valid message
	Foreign  uint64 // dropped: of another job
	Imposter uint64 // dropped: claims another sender than the authenticated one
	Stale    uint64 // dropped: from an incarnation that has been replaced
}

// Dropped returns the number of received messages that were dropped.
func (s Stats) Dropped() uint64 { return s.Garbage + s.Foreign + s.Imposter + s.Stale }

// Metered is an optional interface of endpoints that count messages.
type Metered interface{ Stats() Stats }

// Counters are the Stats of a running endpoint. The zero value is ready.
type Counters struct {
	Sent, SentBytes, Received, ReceivedBytes, Shared, Refused atomic.Uint64
	Garbage, Foreign, Imposter, Stale                         atomic.Uint64
}

// Stats returns the current counts.
func (c *Counters) Stats() Stats {
	return Stats{
		Sent: c.Sent.Load(), SentBytes: c.SentBytes.Load(), Received: c.Received.Load(),
		ReceivedBytes: c.ReceivedBytes.Load(),
		Shared:        c.Shared.Load(), Refused: c.Refused.Load(),
		Garbage: c.Garbage.Load(), Foreign: c.Foreign.Load(), Imposter: c.Imposter.Load(),
		Stale: c.Stale.Load(),
	}
}

// Out counts a message that was sent.
func (c *Counters) Out(payload int) {
	c.Sent.Add(1)
	c.SentBytes.Add(uint64(payload))
}

// In counts a message that is passed to the handler.
func (c *Counters) In(payload int) {
	c.Received.Add(1)
	c.ReceivedBytes.Add(uint64(payload))
}
