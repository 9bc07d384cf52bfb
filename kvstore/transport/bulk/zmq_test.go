//go:build cgo

package bulk_test

import (
	"testing"

	"gomx/internal/transporttest"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/bulk"
	"gomx/kvstore/transport/zmq"
	"gomx/kvstore/wire"
)

// overCurve opens endpoints whose base is ZeroMQ with keys.
func overCurve(t *testing.T) transporttest.Opener {
	t.Helper()
	nodes := []wire.Node{}
	for i := range 10 {
		nodes = append(nodes, transporttest.Server(i), transporttest.Worker(i))
	}
	rings, err := zmq.NewKeyrings(nodes...)
	if err != nil {
		t.Fatal(err)
	}
	return func(t testing.TB, cfg transport.Config) transport.Endpoint {
		t.Helper()
		e, err := bulk.Open(cfg, bulk.Options{Listen: "127.0.0.1:0",
			Base: func(cfg transport.Config) (transport.Endpoint, error) {
				return zmq.Open(cfg, zmq.Options{Keys: rings[cfg.Self]})
			}})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
}

func TestConformanceOverCurve(t *testing.T) {
	transporttest.Run(t, transporttest.Suite{Open: overCurve(t)})
}
