//go:build cgo && linux

package shm_test

import (
	"testing"

	"gomx/internal/transporttest"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/shm"
	"gomx/kvstore/transport/zmq"
)

// overSockets opens endpoints whose base is ZeroMQ.
func overSockets(listen string, o zmq.Options) transporttest.Opener {
	return func(t testing.TB, cfg transport.Config) transport.Endpoint {
		t.Helper()
		if cfg.Listen == "" {
			cfg.Listen = listen
		}
		e, err := shm.Open(cfg, shm.Options{Base: func(cfg transport.Config) (transport.Endpoint,
			error) {
			return zmq.Open(cfg, o)
		}})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
}

func TestConformanceOverSockets(t *testing.T) {
	transporttest.Run(t, transporttest.Suite{Open: overSockets("ipc", zmq.Options{})})
}
