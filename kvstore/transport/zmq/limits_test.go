//go:build cgo

package zmq_test

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gomx/internal/transporttest"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/zmq"
	"gomx/kvstore/wire"
)

// limitPayload is the longest payload in tests of limits; frames may be a little longer than that
// and the header.
const limitPayload = 1 << 16

// line is a connection of a stranger who speaks ZeroMQ's protocol (ZMTP 3.0) by hand.
type line struct {
	net.Conn
	t *testing.T
}

// dialRaw connects to the data address of an endpoint, or to its control address.
func dialRaw(t *testing.T, addr string, control bool) line {
	t.Helper()
	data, second, _ := strings.Cut(addr, ",")
	if control {
		data = second
	}
	network, where, _ := strings.Cut(data, "://")
	if network == "ipc" {
		network = "unix"
	}
	c, err := net.Dial(network, where)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return line{c, t}
}

// say writes; who has been hung up on cannot, which is what ends is about.
func (l line) say(b []byte) { _, _ = l.Write(b) }

// ends waits until the endpoint has closed the connection.
func (l line) ends(what string) {
	l.t.Helper()
	l.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.Copy(io.Discard, l); errors.Is(err, os.ErrDeadlineExceeded) {
		l.t.Errorf("%s: the connection is still open", what)
	}
}

func greeting(major byte, mechanism string) []byte {
	b := make([]byte, 64)
	b[0], b[9], b[10] = 0xff, 0x7f, major
	copy(b[12:32], mechanism)
	return b
}

// ready is the command that ends a handshake without keys.
func ready(socket string) []byte {
	body := append([]byte("\x05READY\x0bSocket-Type"), 0, 0, 0, byte(len(socket)))
	body = append(body, socket...)
	body = append(body, "\x08Identity\x00\x00\x00\x00"...)
	return append([]byte{4, byte(len(body))}, body...)
}

// introduction is what a whole handshake says.
func introduction() []byte { return append(greeting(3, "NULL"), ready("DEALER")...) }

// introduce makes a handshake, in the name of a version, with the patience that ZeroMQ wants: what
// comes before its own greeting is over may be lost.
func (l line) introduce(major byte) {
	l.t.Helper()
	l.SetReadDeadline(time.Now().Add(30 * time.Second))
	answer := make([]byte, 64)
	l.say(greeting(major, "NULL"))
	_, err := io.ReadFull(l, answer)
	l.say(ready("DEALER"))
	if err == nil {
		_, err = io.ReadFull(l, answer[:2])
	}
	if err == nil && (answer[0] != 4 || answer[1] > 64) {
		l.t.Fatalf("the endpoint answers with %x, want a short command", answer[:2])
	}
	if err == nil {
		_, err = io.ReadFull(l, answer[:answer[1]])
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// frame announces a frame of n bytes and begins it with b; flags 1 says that more follow.
func frame(flags byte, n uint64, b []byte) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{flags | 2}, n), b...)
}

// message is a correct message as a single frame.
func message(payload []byte) []byte {
	m := claim(transporttest.Worker(1), payload)
	return append(m.AppendHeader(nil), payload...)
}

// overSockets runs a test over TCP and over local sockets.
func overSockets(t *testing.T, test func(t *testing.T, listen string)) {
	for name, listen := range map[string]string{"tcp": "", "ipc": "ipc"} {
		t.Run(name, func(t *testing.T) { test(t, listen) })
	}
}

// stillServes checks that a healthy peer gets through and that the handler has had nothing else.
func stillServes(t *testing.T, server *transporttest.Node, open transporttest.Opener, before int) {
	t.Helper()
	worker := transporttest.Start(t, open, transport.Config{Self: transporttest.Worker(0)}, nil)
	if err := worker.Connect(server.Self, server.Addr()); err != nil {
		t.Fatal(err)
	}
	worker.Push(server.Self, 1, []byte("healthy"))
	got := server.Wait(before + 1)
	if len(got) != before+1 || got[before].From != worker.Self ||
		string(got[before].Payload) != "healthy" {
		t.Errorf("the handler got %d messages, the last is %s; want %d and the healthy one last",
			len(got), &got[len(got)-1], before+1)
	}
}

// TestFramesHaveALimit: a frame that is announced as too long ends its connection before its bytes
// have come, one of the longest payload passes.
func TestFramesHaveALimit(t *testing.T) {
	overSockets(t, func(t *testing.T, listen string) {
		open := opener(zmq.Options{}, listen)
		server := transporttest.Start(t, open, transport.Config{Self: transporttest.Server(0),
			MaxPayload: limitPayload}, nil)
		longest := message(transporttest.Pattern(limitPayload, 1))
		good := dialRaw(t, server.Addr(), false)
		good.introduce(3)
		good.say(frame(0, uint64(len(longest)), longest))
		if got := server.Wait(1); len(got[0].Payload) != limitPayload {
			t.Errorf("a payload of %d bytes arrived, want %d", len(got[0].Payload), limitPayload)
		}
		for _, n := range []uint64{limitPayload + 1025, 1 << 31, 1 << 40, 1 << 62, 1<<64 - 1} {
			l := dialRaw(t, server.Addr(), false)
			l.introduce(3)
			l.say(frame(0, n, longest[:100]))
			l.ends("a long frame")
			l = dialRaw(t, server.Addr(), false) // as the second part of a message that began well
			l.introduce(3)
			l.say(frame(1, wire.HeaderSize, longest[:wire.HeaderSize]))
			l.say(frame(0, n, nil))
			l.ends("a long second frame")
		}
		l := dialRaw(t, server.Addr(), true)
		l.introduce(3)
		l.say(frame(0, 4<<20+1, nil))
		l.ends("a long control message")
		stillServes(t, server, open, 1)
		if s := server.Stats(); s.Dropped() != 0 {
			t.Errorf("cut messages got as far as %+v", s)
		}
	})
}

// TestHandshakesHaveALimit: whoever does not finish a handshake in time, or speaks of something
// unknown in it, is hung up on, by the data socket and by the control socket.
func TestHandshakesHaveALimit(t *testing.T) {
	overSockets(t, func(t *testing.T, listen string) {
		open := opener(zmq.Options{Handshake: 500 * time.Millisecond}, listen)
		server := transporttest.Start(t, open, transport.Config{Self: transporttest.Server(0),
			MaxPayload: limitPayload}, nil)
		var all []line
		var names []string
		for name, said := range map[string][]byte{
			"silence":                 nil,
			"half a greeting":         greeting(3, "NULL")[:11],
			"a greeting":              greeting(3, "NULL"),
			"half a command":          introduction()[:70],
			"an unknown mechanism":    append(greeting(3, "GOMX"), ready("DEALER")...),
			"keys where there are no": greeting(3, "CURVE"),
			"an unknown command":      append(greeting(3, "NULL"), "\x04\x06\x05HELLO"...),
			"another kind of socket":  append(greeting(3, "NULL"), ready("PUB")...),
			"an unknown socket":       append(greeting(3, "NULL"), ready("GOMX")...),
			"an endless command": append(greeting(3, "NULL"),
				"\x06\x7f\xff\xff\xff\xff\xff\xff\xff\x05READY"...),
			"a message too early": append(greeting(3, "NULL"), frame(0, wire.HeaderSize,
				message(nil))...),
		} {
			for _, control := range []bool{false, true} {
				l := dialRaw(t, server.Addr(), control)
				l.say(said)
				all, names = append(all, l), append(names, name)
			}
		}
		for i, l := range all {
			l.ends(names[i])
		}
		stillServes(t, server, open, 0)
	})
}

// TestVersionsOfTheProtocol: a newer peer is answered as far as both can, which the message's own
// version then decides; a message of another version is garbage.
func TestVersionsOfTheProtocol(t *testing.T) {
	overSockets(t, func(t *testing.T, listen string) {
		open := opener(zmq.Options{}, listen)
		server := transporttest.Start(t, open, transport.Config{Self: transporttest.Server(0)}, nil)
		newer := dialRaw(t, server.Addr(), false)
		newer.introduce(9)
		newer.say(frame(0, wire.HeaderSize, message(nil)))
		server.Wait(1)
		for i, version := range []byte{0, wire.Version + 1, 255} {
			m := message(nil)
			m[4] = version
			newer.say(frame(0, wire.HeaderSize, m))
			transporttest.Eventually(t, "a message of another version to be counted",
				func() bool { return server.Stats().Garbage == uint64(i+1) })
		}
		stillServes(t, server, open, 1)
	})
}

// TestPartsOfMessages: messages with too few or too many parts are garbage, those of thousands too,
// and one that is never finished is none.
func TestPartsOfMessages(t *testing.T) {
	overSockets(t, func(t *testing.T, listen string) {
		open := opener(zmq.Options{}, listen)
		server := transporttest.Start(t, open, transport.Config{Self: transporttest.Server(0),
			MaxPayload: limitPayload}, nil)
		m := message([]byte("payload"))
		l := dialRaw(t, server.Addr(), false)
		l.introduce(3)
		l.say(frame(0, 0, nil))
		l.say(append(frame(1, wire.HeaderSize, m[:wire.HeaderSize]),
			append(frame(1, 7, m[wire.HeaderSize:]), frame(0, 0, nil)...)...))
		for range 20_000 {
			l.say(frame(1, 3, []byte("abc")))
		}
		l.say(frame(0, 3, []byte("abc")))
		transporttest.Eventually(t, "three messages to be counted",
			func() bool { return server.Stats().Garbage == 3 })
		unfinished := dialRaw(t, server.Addr(), false)
		unfinished.introduce(3)
		for range 1000 {
			unfinished.say(frame(1, wire.HeaderSize, m[:wire.HeaderSize]))
		}
		unfinished.Close()
		stillServes(t, server, open, 0)
		if s := server.Stats(); s.Garbage != 3 || s.Dropped() != 3 {
			t.Errorf("%+v, want 3 garbage and nothing else", s)
		}
	})
}

// TestRandomBytesAfterAHandshake sends noise where frames are expected, and mutants of correct
// conversations.
func TestRandomBytesAfterAHandshake(t *testing.T) {
	overSockets(t, func(t *testing.T, listen string) {
		t.Logf("seed %d", *seed)
		rng := rand.New(rand.NewPCG(*seed, 1))
		open := opener(zmq.Options{}, listen)
		server := transporttest.Start(t, open, transport.Config{Self: transporttest.Server(0),
			MaxPayload: limitPayload}, nil)
		whole := append(introduction(), frame(0, wire.HeaderSize+100,
			message(make([]byte, 100)))...)
		for i := range 150 {
			l := dialRaw(t, server.Addr(), i%3 == 0)
			b := append([]byte(nil), whole...)
			if i%2 == 0 {
				b = append(introduction(), make([]byte, rng.IntN(2000))...)
				for k := len(introduction()); k < len(b); k++ {
					b[k] = byte(rng.Uint32())
				}
			} else {
				for range 1 + rng.IntN(3) {
					b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
				}
			}
			l.say(b[:len(b)-rng.IntN(3)*rng.IntN(40)])
			l.Close()
		}
		worker := transporttest.Start(t, open, transport.Config{Self: transporttest.Worker(0)}, nil)
		if err := worker.Connect(server.Self, server.Addr()); err != nil {
			t.Fatal(err)
		}
		worker.Push(server.Self, 77, []byte("healthy"))
		server.WaitFor("the healthy message", func(list []wire.Message) bool {
			return slices.ContainsFunc(list, func(m wire.Message) bool {
				return m.Seq == 77 && m.From == worker.Self
			})
		})
	})
}
