package transport

import (
	"errors"
	"sync/atomic"

	"gomx/kvstore/wire"
)

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

	Forged    uint64 // encrypted connections ended by a record that their peer did not send next
	Truncated uint64 // encrypted connections that broke without a goodbye
	Unknown   uint64 // handshakes that failed, most often for lack of a known certificate
}

// Dropped returns the number of received messages that were dropped.
func (s Stats) Dropped() uint64 { return s.Garbage + s.Foreign + s.Imposter + s.Stale }

// Plus returns the sums of two counts.
func (s Stats) Plus(o Stats) Stats {
	return Stats{
		Sent: s.Sent + o.Sent, SentBytes: s.SentBytes + o.SentBytes,
		Received: s.Received + o.Received, ReceivedBytes: s.ReceivedBytes + o.ReceivedBytes,
		Shared: s.Shared + o.Shared, Refused: s.Refused + o.Refused,
		Garbage: s.Garbage + o.Garbage, Foreign: s.Foreign + o.Foreign,
		Imposter: s.Imposter + o.Imposter, Stale: s.Stale + o.Stale,
		Forged: s.Forged + o.Forged, Truncated: s.Truncated + o.Truncated,
		Unknown: s.Unknown + o.Unknown,
	}
}

// Metered is an optional interface of endpoints that count messages.
type Metered interface{ Stats() Stats }

// Counters are the Stats of a running endpoint. The zero value is ready.
type Counters struct {
	Sent, SentBytes, Received, ReceivedBytes, Shared, Refused atomic.Uint64
	Garbage, Foreign, Imposter, Stale                         atomic.Uint64
	Forged, Truncated, Unknown                                atomic.Uint64

	otherRelease atomic.Bool // a message of another release has been received
}

// Stats returns the current counts.
func (c *Counters) Stats() Stats {
	return Stats{
		Sent: c.Sent.Load(), SentBytes: c.SentBytes.Load(), Received: c.Received.Load(),
		ReceivedBytes: c.ReceivedBytes.Load(),
		Shared:        c.Shared.Load(), Refused: c.Refused.Load(),
		Garbage: c.Garbage.Load(), Foreign: c.Foreign.Load(), Imposter: c.Imposter.Load(),
		Stale: c.Stale.Load(), Forged: c.Forged.Load(), Truncated: c.Truncated.Load(),
		Unknown: c.Unknown.Load(),
	}
}

// Undecoded counts a message that does not decode. The first one of another release of gomx is named
// in the log: a job of two releases stands still, and people must learn why.
func (c *Counters) Undecoded(cfg *Config, err error) {
	c.Garbage.Add(1)
	if errors.Is(err, wire.ErrVersion) && !c.otherRelease.Swap(true) {
		cfg.Log.Error().Err(err).Stringer("node", cfg.Self).Msg(
			"received a message of another release")
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
