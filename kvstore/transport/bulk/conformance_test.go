package bulk_test

import (
	"testing"
	"time"

	"gomx/internal/transporttest"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/bulk"
	"gomx/kvstore/transport/mem"
)

// overMemory opens endpoints whose base is an in-memory network of the test.
func overMemory(o bulk.Options) transporttest.Opener {
	nets := map[string]*mem.Network{}
	return func(t testing.TB, cfg transport.Config) transport.Endpoint {
		t.Helper()
		n := nets[t.Name()]
		if n == nil {
			n = mem.NewNetwork(1)
			nets[t.Name()] = n
		}
		o := o
		o.Listen = "127.0.0.1:0"
		o.Base = func(cfg transport.Config) (transport.Endpoint, error) { return mem.Open(n, cfg) }
		e, err := bulk.Open(cfg, o)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
}

func TestConformanceOverMemory(t *testing.T) {
	transporttest.Run(t, transporttest.Suite{Open: overMemory(bulk.Options{})})
}

// TestConformanceWithManyKeys changes lines after every 100 KB.
func TestConformanceWithManyKeys(t *testing.T) {
	transporttest.Run(t, transporttest.Suite{Open: overMemory(bulk.Options{Rekey: 100_000,
		Linger: 2 * time.Second})})
}
