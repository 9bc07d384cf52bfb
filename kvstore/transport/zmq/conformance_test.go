//go:build cgo

package zmq_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"gomx/internal/transporttest"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/zmq"
	"gomx/kvstore/wire"
)

func opener(o zmq.Options, listen string) transporttest.Opener {
	return func(t testing.TB, cfg transport.Config) transport.Endpoint {
		t.Helper()
		if cfg.Listen == "" {
			cfg.Listen = listen
		}
		e, err := zmq.Open(cfg, o)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
}

func hasIPv6() bool {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// TestPortRange opens endpoints in a range of two ports: two get a port of it each, the third one
// gets an error.
func TestPortRange(t *testing.T) {
	first := 21000 + os.Getpid()%9000
	listen := fmt.Sprintf("tcp://127.0.0.1:%d-%d", first, first+1)
	got := map[string]bool{}
	for i := range 2 {
		e := opener(zmq.Options{}, listen)(t, transport.Config{Self: transporttest.Server(i),
			Incarnation: 1, Job: testJob, Handler: func(wire.Node, *wire.Message) {}})
		defer e.Close()
		got[e.Addr()] = true
	}
	for i := range 2 {
		if want := fmt.Sprintf("tcp://127.0.0.1:%d", first+i); !got[want] {
			t.Errorf("addresses are %v, want %s among them", got, want)
		}
	}
	_, err := zmq.Open(transport.Config{Self: transporttest.Server(2), Incarnation: 1,
		Job: testJob, Listen: listen, Handler: func(wire.Node, *wire.Message) {}}, zmq.Options{})
	if err == nil || !strings.Contains(err.Error(), listen) {
		t.Errorf("third endpoint: got %v, want an error that names %s", err, listen)
	}
}

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name, listen string
		o            zmq.Options
	}{
		{"TCP", "", zmq.Options{}},
		{"TCPDedicated", "", zmq.Options{Dedicated: true}},
		{"OneSocket", "tcp://127.0.0.1:0", zmq.Options{}},
		{"IPC", "ipc", zmq.Options{}},
		{"Range", "tcp://127.0.0.1:20000-32000", zmq.Options{}},
		{"IPv6", "tcp://[::1]:0,tcp://[::1]:0", zmq.Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "IPv6" && !hasIPv6() {
				t.Skip("this machine has no IPv6")
			}
			transporttest.Run(t, transporttest.Suite{Open: opener(c.o, c.listen)})
		})
	}
}
