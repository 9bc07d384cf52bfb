package bulk

import (
	"errors"
	"fmt"
	"time"

	"gomx/kvstore/transport"
)

// Options are the parameters of the transport. Base is required.
type Options struct {
	// Base opens the endpoint that authenticates peers and carries control messages.
	Base func(transport.Config) (transport.Endpoint, error)
	// Listen is the TCP address (host:port) for the lines of peers; "": this endpoint only dials.
	Listen string
	// Advertise is the host in Addr if Listen has none or an unspecified one.
	Advertise string
	// Queue is the number of messages that may wait for a line; 0 means 1000.
	Queue int
	// Rekey is the number of bytes in one direction after which a line gives way to a new one with
	// new keys; 0 means 64 GiB, a sixth of the limit of RFC 8446, section 5.5.
	Rekey uint64
	// Handshake is the time that a peer has for its handshake, and the time that messages to a
	// peer wait for its next line after a goodbye; 0 means 3 s.
	Handshake time.Duration
	// Heartbeat is the interval at which the kernel probes a silent line. A line without an answer
	// for three intervals is closed. 0 means 2 s.
	Heartbeat time.Duration
	// Linger is the time that Close waits for unsent messages; 0 means 500 ms.
	Linger time.Duration
}

func (o *Options) check() error {
	switch {
	case o.Base == nil:
		return errors.New("bulk: Options.Base is nil, want a function that opens the base " +
			"transport")
	case o.Queue < 0:
		return fmt.Errorf("bulk: queue of %d messages, want 0 or more", o.Queue)
	case o.Handshake < 0 || o.Heartbeat < 0 || o.Linger < 0:
		return fmt.Errorf("bulk: handshake %s, heartbeat %s, linger %s; want none below 0",
			o.Handshake, o.Heartbeat, o.Linger)
	}
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&o.Handshake, 3*time.Second)
	set(&o.Heartbeat, 2*time.Second)
	set(&o.Linger, 500*time.Millisecond)
	if o.Queue == 0 {
		o.Queue = 1000
	}
	if o.Rekey == 0 {
		o.Rekey = 64 << 30
	}
	return nil
}
