//go:build cgo && linux

package launch_test

import (
	"strings"
	"testing"
	"time"

	"gomx/kvstore/wire"
)

// TestAllCopiesLost kills both servers at one instant, with the protocol's own intervals: the job ends soon, with an error
// that names the shards, and without starting workers again for nothing.
func TestAllCopiesLost(t *testing.T) {
	c := newChaos(1)
	c.scale, c.workers, c.servers = 1, 2, 2
	server := func(rank uint16) fault {
		return fault{victim: wire.Node{Role: wire.Server, Rank: rank}, how: "killed", moment: "step", after: 100 * time.Millisecond}
	}
	c.n = newNemesis(server(0), server(1))
	began := time.Now()
	if outcome := c.run(t); outcome != lost {
		t.Fatalf("got %s, want an error that names the lost shards\n%s", outcome, c.out.String())
	}
	t.Logf("the job has ended %v after its start", time.Since(began))
	for node, starts := range c.n.starts {
		if node.Role == wire.Worker && starts > 1 {
			t.Errorf("%s was started %d times:\n%s", node, starts, c.out.String())
		}
	}
	if out := c.out.String(); !strings.Contains(out, "numbers 0, 1") {
		t.Errorf("shards 0 and 1 are not named:\n%s", out)
	}
}
