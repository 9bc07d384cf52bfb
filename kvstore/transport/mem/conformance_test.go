package mem_test

import (
	"testing"

	"gomx/internal/transporttest"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/mem"
)

func TestConformance(t *testing.T) {
	n := map[string]*mem.Network{}
	transporttest.Run(t, transporttest.Suite{Open: func(t testing.TB,
		cfg transport.Config) transport.Endpoint {
		if n[t.Name()] == nil {
			n[t.Name()] = mem.NewNetwork(1)
		}
		e, err := mem.Open(n[t.Name()], cfg)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}})
}
