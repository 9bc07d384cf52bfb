package transport

import (
	"errors"
	"fmt"
	"strings"

	"gomx/kvstore/wire"

	"github.com/rs/zerolog"
)

// Endpoint is a node's end of a transport. Its methods may be called from any goroutine; handlers
// and sent functions may call Send and Connect.
type Endpoint interface {
	// Addr returns the address that others pass to Connect.
	Addr() string
	// Connect makes and keeps a connection to a peer. A second call for the same peer with another
	// address replaces the first; with the same address it does nothing. Success does not mean that
	// the peer exists.
	Connect(peer wire.Node, addr string) error
	// Disconnect closes the connection to a peer and forgets the peer's own connection. Unsent
	// messages are lost, at once or soon, and their sent functions are called.
	Disconnect(peer wire.Node)
	// Send queues a message. The header is encoded before Send returns. If sent is nil, the payload
	// is copied. Otherwise it must not change until sent is called, which happens exactly once,
	// from any goroutine, also when the message is lost. If Send returns an error, sent is not
	// called. If the only connection is the peer's, Send returns ErrUnreachable soon after that
	// connection is closed; the kernel closes the connections of a process that dies.
	Send(to wire.Node, m *wire.Message, sent func()) error
	// Close tries for a short time to send the queued messages and closes the endpoint. A handler
	// must not call it.
	Close() error
}

// Sharer is an optional interface of endpoints that have receivers on the same host.
type Sharer interface {
	// Share returns memory of so many zero bytes for payloads that such receivers read where they
	// are. A message that is sent with a payload in it, and a sent function, may have been sent
	// before the payload is read: see Space.
	Share(bytes int) (Space, error)
}

// Space is memory for payloads that receivers on the same host may read where they are: their
// messages have an Owner that is wire.Lent. Its methods may be called from any goroutine.
type Space interface {
	// Bytes is the memory, the same at each call.
	Bytes() []byte
	// Renew says that the memory will be written again. Receivers that still read payloads which
	// were sent before learn of it from Lent.Intact.
	Renew()
	// Close frees the memory. The sent functions of all payloads in it have been called.
	Close()
}

// Handler receives messages. The message and its payload are valid until it returns;
// wire.Message.Take keeps a payload longer.
type Handler func(from wire.Node, m *wire.Message)

// Config holds the parameters of an endpoint that all transports have.
type Config struct {
	Self wire.Node // node of the endpoint
	// lower bound of Self's incarnation, which a process gets after it has said hello
	Incarnation uint32
	Job         uint64         // messages of other jobs are dropped
	Listen      string         // address to listen on; "": the transport chooses one
	MaxPayload  int            // size of the largest payload in bytes; 0: DefaultMaxPayload
	Handler     Handler        // receives all messages
	Log         zerolog.Logger // logs changes of state only
}

// DefaultMaxPayload is the size in bytes of the largest payload if Config.MaxPayload is 0.
const DefaultMaxPayload = 64 << 20

// Check fills in defaults and returns an error for invalid parameters.
func (c *Config) Check() error {
	switch {
	case !c.Self.Role.Valid():
		return fmt.Errorf("transport: endpoint of %s, want a scheduler, server or worker", c.Self)
	case c.Handler == nil:
		return fmt.Errorf("transport: endpoint of %s: no handler, want one", c.Self)
	case c.MaxPayload < 0 || c.MaxPayload > wire.MaxPayload:
		return fmt.Errorf("transport: MaxPayload is %d bytes, want 0 to %d", c.MaxPayload,
			wire.MaxPayload)
	}
	if c.MaxPayload == 0 {
		c.MaxPayload = DefaultMaxPayload
	}
	return nil
}

// CheckSend returns an error if the endpoint must not send the message m.
func (c *Config) CheckSend(to wire.Node, m *wire.Message) error {
	switch {
	case m.From != c.Self || m.Incarnation < c.Incarnation || m.Job != c.Job:
		return fmt.Errorf("transport: %s to %s is from %s/%d of job %#x, want %s/%d of job %#x",
			m.Type, to, m.From, m.Incarnation, m.Job, c.Self, c.Incarnation, c.Job)
	case len(m.Payload) > c.MaxPayload:
		return fmt.Errorf("transport: %s to %s: %w: %d bytes, want at most %d", m.Type, to,
			ErrTooLarge, len(m.Payload), c.MaxPayload)
	}
	return nil
}

// Errors that Send and Connect return or wrap.
var (
	// ErrClosed means that the endpoint has been closed.
	ErrClosed = errors.New("endpoint is closed")
	// ErrUnreachable means that there is no connection to a node: none was made, or it has been
	// closed.
	ErrUnreachable = errors.New("no connection to the node")
	// ErrBusy means that the queue to a node is full.
	ErrBusy = errors.New("queue to the node is full")
	// ErrTooLarge means that a payload is larger than Config.MaxPayload.
	ErrTooLarge = errors.New("payload is too large")
)

// SharedMark stands in addresses before the name of the local socket by which processes of one host
// exchange shared memory (package shm).
const SharedMark = "|"

// Shared reports whether processes of the same host reach an address through shared memory.
func Shared(addr string) bool { return strings.Contains(addr, SharedMark) }
