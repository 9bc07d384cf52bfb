package transport

import (
	"errors"
	"fmt"

	"gomx/kvstore/wire"

	"github.com/rs/zerolog"
)

// Endpoint is a node's end of a transport. Its methods may be called from any goroutine, Send and Connect from handlers
// and sent functions too.
type Endpoint interface {
	// Addr returns what others pass to Connect.
	Addr() string
	// Connect makes and keeps a connection to a peer. A second call for the same peer with another address replaces the
	// first; with the same address it does nothing. Success does not mean that anybody is there.
	Connect(peer wire.Node, addr string) error
	// Disconnect gives up the connection to a peer and forgets the way back to it. Unsent messages are lost, at once or after a
	// moment, and their payloads given back.
	Disconnect(peer wire.Node)
	// Send queues a message. The header is encoded before Send returns. The payload is copied when sent is nil; otherwise
	// it must not change until sent is called, which happens exactly once, from any goroutine, also when the message is
	// lost. When Send returns an error sent is not called. A message to a node that has connected to us, and whose connection is
	// closed, ends with ErrUnreachable soon after that: the kernel closes the connections of a process that dies.
	Send(to wire.Node, m *wire.Message, sent func()) error
	// Close gives unsent messages a moment to leave and ends the endpoint. It must not be called from a handler.
	Close() error
}

// Handler receives messages. The message and its payload are valid until it returns, but see wire.Message.Take.
type Handler func(from wire.Node, m *wire.Message)

// Config is what every transport needs to know to open an endpoint.
type Config struct {
	Self        wire.Node // whose endpoint it is
	Incarnation uint32    // lowest of Self; a process gets its own, higher than its predecessors', after it has said hello
	Job         uint64    // messages of other jobs are dropped
	Listen      string    // an address of the transport; "" listens where the transport likes
	MaxPayload  int       // longest payload accepted; 0 means DefaultMaxPayload
	Handler     Handler
	Log         zerolog.Logger // state changes only
}

// DefaultMaxPayload is the longest payload that endpoints accept unless told otherwise.
const DefaultMaxPayload = 64 << 20

// Check fills in defaults and reports what is wrong.
func (c *Config) Check() error {
	switch {
	case !c.Self.Role.Valid():
		return fmt.Errorf("transport: endpoint of %s, want a scheduler, server or worker", c.Self)
	case c.Handler == nil:
		return fmt.Errorf("transport: endpoint of %s without a handler", c.Self)
	case c.MaxPayload < 0 || c.MaxPayload > wire.MaxPayload:
		return fmt.Errorf("transport: payloads of up to %d bytes, want 0 to %d", c.MaxPayload, wire.MaxPayload)
	}
	if c.MaxPayload == 0 {
		c.MaxPayload = DefaultMaxPayload
	}
	return nil
}

// CheckSend reports what is wrong with a message that an endpoint is asked to send.
func (c *Config) CheckSend(to wire.Node, m *wire.Message) error {
	switch {
	case m.From != c.Self || m.Incarnation < c.Incarnation || m.Job != c.Job:
		return fmt.Errorf("transport: %s to %s is from %s/%d of job %#x, want %s/%d of job %#x",
			m.Type, to, m.From, m.Incarnation, m.Job, c.Self, c.Incarnation, c.Job)
	case len(m.Payload) > c.MaxPayload:
		return fmt.Errorf("transport: %s to %s: %w: %d bytes, want at most %d", m.Type, to, ErrTooLarge, len(m.Payload), c.MaxPayload)
	}
	return nil
}

// Errors that Send and Connect return or wrap.
var (
	// ErrClosed says that the endpoint has been closed.
	ErrClosed = errors.New("endpoint is closed")
	// ErrUnreachable says that there is no connection to a node: never made, broken or given up.
	ErrUnreachable = errors.New("no connection to the node")
	// ErrBusy says that too much is queued for a node already.
	ErrBusy = errors.New("queue to the node is full")
	// ErrTooLarge says that a payload is longer than endpoints accept.
	ErrTooLarge = errors.New("payload is too large")
)
