package zmq

import (
	"fmt"
	"time"

	"gomx/kvstore/transport"
)

// Options configure this transport beyond transport.Config. The zero value is right for
// one host.
type Options struct {
	// Keys encrypt and authenticate every connection. Without them an endpoint keeps to the
	// loopback and local sockets.
	Keys *Keyring
	// Advertise is the host in Addr when Listen names a wildcard such as 0.0.0.0.
	Advertise string
	// IPv6 looks the names of hosts up as addresses of IPv6. Addresses that are numbers of IPv6
	// need no option.
	IPv6 bool
	// Dedicated lets the receiving goroutine always wait in C. It is meant for processes that do
	// little but answer messages. Elsewhere the goroutine does so for a moment after a message, and
	// then waits like one that reads from a socket.
	Dedicated bool
	// Queue is how many messages may wait in each direction of a connection; 0 means 1000.
	Queue int
	// Handshake is how long a peer may take to introduce itself; 0 means 3 s.
	Handshake time.Duration
	// Heartbeat is how often a connection is probed; 0 means 2 s. A connection without life for
	// three of them is closed.
	Heartbeat time.Duration
	// Linger is how long Close waits for unsent messages; 0 means 500 ms.
	Linger time.Duration
}

func (o *Options) check() error {
	for _, v := range []struct {
		name string
		p    *time.Duration
		def  time.Duration
	}{{"handshake", &o.Handshake, 3 * time.Second}, {"heartbeat", &o.Heartbeat, 2 * time.Second},
		{"linger", &o.Linger, 500 * time.Millisecond}} {
		if *v.p < 0 {
			return fmt.Errorf("zmq: %s of %s, want 0 or more", v.name, *v.p)
		}
		if *v.p == 0 {
			*v.p = v.def
		}
	}
	if o.Queue < 0 {
		return fmt.Errorf("zmq: queue of %d messages, want 0 or more", o.Queue)
	}
	if o.Queue == 0 {
		o.Queue = 1000
	}
	if o.Keys != nil {
		return o.Keys.check()
	}
	return nil
}

// NoListen as Config.Listen makes an endpoint that only connects to others. Its Addr is empty.
const NoListen = "none"

// checkVersion refuses libraries in which a stranger can block or crash a process.
func checkVersion(major, minor, patch int) error {
	if have := major*10000 + minor*100 + patch; have < 40303 {
		return fmt.Errorf("zmq: libzmq %d.%d.%d, want 4.3.3 or newer: before it a peer without "+
			"a key can block a server (CVE-2020-15166)", major, minor, patch)
	}
	return nil
}

// maxFrame is the longest frame accepted: a payload, its header and the addition of encryption.
func maxFrame(c *transport.Config) int { return c.MaxPayload + 1024 }

// maxControl is the longest frame of control messages.
const maxControl = 4 << 20
