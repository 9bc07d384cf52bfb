//go:build cgo

package zmq_test

import (
	"testing"

	"gomx/internal/transporttest"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/zmq"
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

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name, listen string
		o            zmq.Options
	}{
		{"TCP", "", zmq.Options{}},
		{"TCPDedicated", "", zmq.Options{Dedicated: true}},
		{"OneSocket", "tcp://127.0.0.1:0", zmq.Options{}},
		{"IPC", "ipc", zmq.Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			transporttest.Run(t, transporttest.Suite{Open: opener(c.o, c.listen)})
		})
	}
}
