//go:build cgo

package zmq_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"gomx/internal/transporttest"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/zmq"
	"gomx/kvstore/wire"

	"github.com/rs/zerolog"
	"github.com/zeromq/goczmq/v4"
)

var seed = flag.Uint64("seed", 1, "of random garbage")

const testJob = 0x10b

// everybody is who takes part in tests with keys.
func everybody() (nodes []wire.Node) {
	for i := range 4 {
		nodes = append(nodes, transporttest.Server(i), transporttest.Worker(i))
	}
	return append(nodes, transporttest.Server(9))
}

func keyrings(t testing.TB) map[wire.Node]*zmq.Keyring {
	t.Helper()
	rings, err := zmq.NewKeyrings(everybody()...)
	if err != nil {
		t.Fatal(err)
	}
	return rings
}

// locked opens endpoints with everybody's own keys.
func locked(rings map[wire.Node]*zmq.Keyring, listen string) transporttest.Opener {
	return func(t testing.TB, cfg transport.Config) transport.Endpoint {
		return opener(zmq.Options{Keys: rings[cfg.Self]}, listen)(t, cfg)
	}
}

func TestConformanceWithKeys(t *testing.T) {
	transporttest.Run(t, transporttest.Suite{Open: locked(keyrings(t), ""), Payload: 1 << 20})
}

// raw connects a bare socket to an endpoint's data address.
func raw(t testing.TB, addr string, options ...goczmq.SockOption) *goczmq.Sock {
	t.Helper()
	s := goczmq.NewSock(goczmq.Dealer, append(options, goczmq.SockSetLinger(0),
		goczmq.SockSetSndtimeo(100))...)
	t.Cleanup(s.Destroy)
	first, _, _ := strings.Cut(addr, ",")
	if err := s.Connect(first); err != nil {
		t.Fatal(err)
	}
	return s
}

func withKey(self zmq.Key, server string) []goczmq.SockOption {
	return []goczmq.SockOption{goczmq.SockSetCurvePublickey(self.Public),
		goczmq.SockSetCurveSecretkey(self.Secret), goczmq.SockSetCurveServerkey(server)}
}

// claim is a correct message in the name of a node.
func claim(from wire.Node, payload []byte) *wire.Message {
	return &wire.Message{Type: wire.TypePush, Job: testJob, From: from, Incarnation: 1, Seq: 666,
		Payload: payload}
}

func TestPeersWithoutAKeyOfTheJobNeverGetThrough(t *testing.T) { overSockets(t, peersWithoutAKey) }

func peersWithoutAKey(t *testing.T, listen string) {
	rings := keyrings(t)
	server := transporttest.Start(t, locked(rings, listen),
		transport.Config{Self: transporttest.Server(0)}, nil)
	stranger, err := zmq.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	peers := map[string]*goczmq.Sock{
		"plain text": raw(t, server.Addr()),
		"unknown key": raw(t, server.Addr(),
			withKey(stranger, rings[transporttest.Server(0)].Self.Public)...),
		"wrong server key": raw(t, server.Addr(), withKey(rings[transporttest.Worker(1)].Self,
			rings[transporttest.Server(1)].Self.Public)...),
	}
	frame := claim(transporttest.Worker(1), nil).AppendHeader(nil)
	for name, s := range peers {
		for range 20 {
			if err := s.SendFrame(frame, goczmq.FlagNone); err != nil {
				t.Logf("%s: %v", name, err)
				break
			}
		}
	}
	// Whoever has a key still gets an answer, after the strangers had their time.
	worker := transporttest.Start(t, locked(rings, listen),
		transport.Config{Self: transporttest.Worker(2)}, nil)
	if err := worker.Connect(server.Self, server.Addr()); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(50) {
		worker.Push(server.Self, i, nil)
		server.Wait(int(i) + 1)
		time.Sleep(time.Millisecond) // not to wait for something, but to let the strangers try
	}
	for _, m := range server.Received() {
		if m.From != worker.Self {
			t.Errorf("the handler got %s", &m)
		}
	}
	if s := server.Stats(); s.Dropped() != 0 {
		t.Errorf("strangers' messages got as far as %+v", s)
	}
}

func TestAKeySpeaksForItsOwnNodeOnly(t *testing.T) { overSockets(t, keyOfOneNode) }

func keyOfOneNode(t *testing.T, listen string) {
	rings := keyrings(t)
	server := transporttest.Start(t, locked(rings, listen),
		transport.Config{Self: transporttest.Server(0)}, nil)
	s := raw(t, server.Addr(), withKey(rings[transporttest.Worker(1)].Self,
		rings[server.Self].Self.Public)...)
	send := func(from wire.Node) {
		if err := s.SendFrame(claim(from, nil).AppendHeader(nil), goczmq.FlagNone); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []wire.Node{transporttest.Worker(0), transporttest.Server(0),
		{Role: wire.Scheduler}} {
		send(other)
	}
	send(transporttest.Worker(1))
	server.Wait(1)
	if got := server.Received(); len(got) != 1 || got[0].From != transporttest.Worker(1) {
		t.Errorf("%d messages reached the handler, want only that of worker 1", len(got))
	}
	if s := server.Stats(); s.Imposter != 3 {
		t.Errorf("%d messages of imposters counted, want 3", s.Imposter)
	}
	if err := server.Send(transporttest.Worker(0), server.Message(wire.TypeValue, 1, nil),
		nil); err == nil {
		t.Error("an imposter's message made a way to the node that it named")
	}
}

func TestConnectionsSpeakForTheNodeTheyLeadToOnly(t *testing.T) {
	router := goczmq.NewSock(goczmq.Router, goczmq.SockSetLinger(0), goczmq.SockSetRcvtimeo(5000))
	t.Cleanup(router.Destroy)
	port, err := router.Bind("tcp://127.0.0.1:*")
	if err != nil {
		t.Fatal(err)
	}
	worker := transporttest.Start(t, opener(zmq.Options{}, ""),
		transport.Config{Self: transporttest.Worker(0)}, nil)
	if err := worker.Connect(transporttest.Server(0),
		"tcp://127.0.0.1:"+strconv.Itoa(port)); err != nil {
		t.Fatal(err)
	}
	worker.Push(transporttest.Server(0), 1, nil)
	parts, err := router.RecvMessage()
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []wire.Node{transporttest.Server(1), transporttest.Server(0)} {
		if err := router.SendMessage([][]byte{parts[0],
			claim(from, nil).AppendHeader(nil)}); err != nil {
			t.Fatal(err)
		}
	}
	got := worker.Wait(1)
	if len(got) != 1 || got[0].From != transporttest.Server(0) || worker.Stats().Imposter != 1 {
		t.Errorf("got %d messages, the first from %s, %+v; want one of server 0 and one imposter",
			len(got), got[0].From, worker.Stats())
	}
}

// garbage is a list of messages that no healthy peer sends.
func garbage(rng *rand.Rand) [][][]byte {
	good := claim(transporttest.Worker(1), []byte("payload")).AppendHeader(nil)
	mutate := func(f func(h []byte)) []byte {
		h := append([]byte(nil), good...)
		f(h)
		return h
	}
	list := [][][]byte{
		{nil}, {{}, {}}, {good[:95]}, {good}, {good, []byte("payloa")}, {good, []byte("payload"),
			[]byte("more")},
		{append(append([]byte(nil), good...), "payloads"...)}, {good, {}, []byte("payload")},
		{mutate(func(h []byte) { h[4] = wire.Version + 1 }), []byte("payload")},
		{mutate(func(h []byte) { binary.LittleEndian.PutUint64(h[80:], 1<<40) }),
			[]byte("payload")},
	}
	for range 300 {
		var parts [][]byte
		for range 1 + rng.IntN(6) {
			b := make([]byte, rng.IntN(300))
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			parts = append(parts, b)
		}
		list = append(list, parts, [][]byte{mutate(
			func(h []byte) { h[rng.IntN(len(h))] ^= 1 << rng.IntN(8) }), []byte("payload")})
	}
	many := make([][]byte, 5000)
	return append(list, many)
}

func TestGarbageIsCountedAndChangesNothing(t *testing.T) { overSockets(t, garbageIsCounted) }

func garbageIsCounted(t *testing.T, listen string) {
	t.Logf("seed %d", *seed)
	rng := rand.New(rand.NewPCG(*seed, 0))
	server := transporttest.Start(t, opener(zmq.Options{}, listen),
		transport.Config{Self: transporttest.Server(0), MaxPayload: 1 << 16}, nil)
	s := raw(t, server.Addr())
	list := garbage(rng)
	for _, parts := range list {
		if err := s.SendMessage(parts); err != nil {
			t.Fatal(err)
		}
	}
	named := raw(t, server.Addr(), goczmq.SockSetIdentity("worker 1"))
	if err := named.SendFrame(claim(transporttest.Worker(1), nil).AppendHeader(nil),
		goczmq.FlagNone); err != nil {
		t.Fatal(err)
	}
	transporttest.Eventually(t, "all garbage to be counted",
		func() bool { return server.Stats().Garbage == uint64(len(list))+1 })
	// A frame that is too long ends the connection, whatever comes after it.
	huge := raw(t, server.Addr())
	huge.SendFrame(make([]byte, 1<<20), goczmq.FlagNone)
	strangers(t, server.Addr(), rng)
	if got := server.Received(); len(got) != 0 {
		t.Errorf("the handler got %s", &got[0])
	}
	worker := transporttest.Start(t, opener(zmq.Options{}, listen),
		transport.Config{Self: transporttest.Worker(0)}, nil)
	if err := worker.Connect(server.Self, server.Addr()); err != nil {
		t.Fatal(err)
	}
	worker.Push(server.Self, 1, []byte("healthy"))
	if got := server.Wait(1); string(got[0].Payload) != "healthy" {
		t.Errorf("a healthy peer's payload is %q", got[0].Payload)
	}
	// Random bytes can be frames of ZeroMQ's first protocol, which has no greeting: they count as
	// garbage as well.
	if s := server.Stats(); s.Garbage < uint64(len(list))+1 || s.Dropped() != s.Garbage {
		t.Errorf("%+v, want %d garbage or more and nothing else dropped", s, len(list)+1)
	}
}

// strangers speak no ZeroMQ at all, or stop in the middle.
func strangers(t *testing.T, addr string, rng *rand.Rand) {
	t.Helper()
	for i := range 20 {
		c := dialRaw(t, addr, false)
		switch i % 4 {
		case 0: // says nothing
			continue
		case 1: // half a greeting
			io.WriteString(c, "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03")
		case 2: // another protocol
			io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		default:
			b := make([]byte, 4096)
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			c.Write(b)
		}
		c.Close()
	}
}

func TestPlainTextStaysOnTheHost(t *testing.T) {
	cfg := transport.Config{Self: transporttest.Server(0), Incarnation: 1, Handler: func(wire.Node,
		*wire.Message) {
	}}
	for _, listen := range []string{"tcp://0.0.0.0:0", "tcp://*:0",
		"tcp://127.0.0.1:0,tcp://0.0.0.0:0"} {
		cfg.Listen = listen
		if e, err := zmq.Open(cfg, zmq.Options{}); err == nil {
			e.Close()
			t.Errorf("listening on %s without keys succeeded", listen)
		} else if !strings.Contains(err.Error(), "keys") {
			t.Errorf("listening on %s: %v, want an error that speaks of keys", listen, err)
		}
	}
	cfg.Listen = ""
	e, err := zmq.Open(cfg, zmq.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Connect(transporttest.Server(1), "tcp://192.0.2.1:9"); err == nil ||
		!strings.Contains(err.Error(), "keys") {
		t.Errorf("connecting to another host without keys: %v, want an error that speaks of keys",
			err)
	}
}

func TestAdvertisedHost(t *testing.T) {
	rings := keyrings(t)
	cfg := transport.Config{Self: transporttest.Server(0), Incarnation: 1,
		Listen: "tcp://0.0.0.0:0", Handler: func(wire.Node, *wire.Message) {}}
	e, err := zmq.Open(cfg, zmq.Options{Keys: rings[cfg.Self], Advertise: "192.0.2.7"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if !strings.HasPrefix(e.Addr(), "tcp://192.0.2.7:") {
		t.Errorf("address %s, want the advertised host", e.Addr())
	}
}

// TestAnotherRelease sends messages of another version of the format to a scheduler and to a
// worker: both name it once in their log, and the scheduler answers with a message of its own
// version, which names it in the log of the other process.
func TestAnotherRelease(t *testing.T) {
	for _, self := range []wire.Node{{Role: wire.Scheduler}, transporttest.Worker(1)} {
		var log bytes.Buffer
		n := transporttest.Start(t, opener(zmq.Options{}, ""), transport.Config{Self: self,
			Log: zerolog.New(&log)}, nil)
		s := raw(t, n.Addr(), goczmq.SockSetRcvtimeo(3000))
		frame := claim(transporttest.Worker(0), nil).AppendHeader(nil)
		frame[4]++
		for range 3 {
			if err := s.SendFrame(frame, goczmq.FlagNone); err != nil {
				t.Fatal(err)
			}
		}
		transporttest.Eventually(t, "the messages", func() bool { return n.Stats().Garbage == 3 })
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(log.String(), "received a message of another release"); got != 1 {
			t.Errorf("%s says %d times that a message is of another release, want once:\n%s", self,
				got, log.String())
		}
		if self.Role != wire.Scheduler {
			continue
		}
		answer, err := s.RecvMessage()
		if err != nil || len(answer) != 1 || len(answer[0]) != wire.HeaderSize ||
			answer[0][4] != wire.Version {
			t.Errorf("the scheduler answers %v, %v; want a message of its version", answer, err)
		}
	}
}
