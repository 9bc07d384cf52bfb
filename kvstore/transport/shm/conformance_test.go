//go:build linux

package shm_test

import (
	"testing"

	"gomx/internal/transporttest"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/mem"
	"gomx/kvstore/transport/shm"
)

// overMemory opens endpoints whose base is an in-memory network of the test.
func overMemory(o shm.Options) transporttest.Opener {
	nets := map[string]*mem.Network{}
	return func(t testing.TB, cfg transport.Config) transport.Endpoint {
		t.Helper()
		n := nets[t.Name()]
		if n == nil {
			n = mem.NewNetwork(1)
			nets[t.Name()] = n
		}
		o.Base = func(cfg transport.Config) (transport.Endpoint, error) { return mem.Open(n, cfg) }
		e, err := shm.Open(cfg, o)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
}

func TestConformanceOverMemory(t *testing.T) {
	transporttest.Run(t, transporttest.Suite{Open: overMemory(shm.Options{Threshold: 4096})})
}

func TestConformanceWithLittleMemory(t *testing.T) {
	transporttest.Run(t, transporttest.Suite{Open: overMemory(shm.Options{Threshold: 100,
		Memory: 3 * 64 << 10})})
}
