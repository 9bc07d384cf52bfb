package kvstore

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"gomx/kvstore/ps/worker"
	"gomx/kvstore/transport"
	"gomx/kvstore/wire"

	"github.com/rs/zerolog"
)

// dialled is an endpoint that notes to whom it is connected.
type dialled struct {
	transport.Endpoint
	calls []string
	fails bool
}

func (e *dialled) Connect(n wire.Node, addr string) error {
	e.calls = append(e.calls, fmt.Sprintf("connect %s %s", n, addr))
	if e.fails {
		return errors.New("no room")
	}
	return nil
}

func (e *dialled) Disconnect(n wire.Node) { e.calls = append(e.calls, "disconnect "+n.String()) }

func (e *dialled) took() []string {
	list := e.calls
	e.calls = nil
	return list
}

// seer is a machine that has a view.
type seer struct {
	*worker.Worker
	view *wire.View
}

func (s *seer) View() *wire.View { return s.view }

// TestLinks follows a worker's connections through the lives of a server.
func TestLinks(t *testing.T) {
	ep := &dialled{}
	v := &wire.View{Servers: []wire.Member{{Node: wire.Node{Role: wire.Server}, Incarnation: 3,
		Alive: true, Addr: "a"},
		{Node: wire.Node{Role: wire.Server, Rank: 1}, Incarnation: 4, Alive: true, Addr: "b"}},
		Shards: []wire.Shard{{Primary: wire.Replica{Incarnation: 3}, Backup: wire.Replica{Server: 1,
			Incarnation: 4}}}}
	d := newDriver(wire.Node{Role: wire.Worker}, zerolog.Nop())
	d.ep, d.machine = ep, &seer{view: v}
	dead := &v.Servers[1]
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"the first view", func() { d.link(v) }, []string{"connect server 0 a",
			"connect server 1 b"}},
		{"the same once more", func() { d.link(v) }, nil},
		{"silent, but perhaps only towards the scheduler", func() { dead.Alive = false; d.link(v) },
			nil},
		{"its copies are given up", func() { v.Shards[0].Backup = wire.Replica{}; d.link(v) },
			[]string{"disconnect server 1"}},
		{"given up already", func() { d.link(v) }, nil},
		{"another process in its place", func() { dead.Alive, dead.Addr = true, "c"; d.link(v) },
			[]string{"connect server 1 c"}},
		{"memory is recalled", func() { d.recall([]wire.Node{dead.Node}) },
			[]string{"disconnect server 1", "connect server 1 c"}},
		{"no room for a connection", func() { ep.fails = true; d.recall([]wire.Node{dead.Node}) },
			[]string{"disconnect server 1", "connect server 1 c"}},
		{"too early to try again", func() { ep.fails = false; d.relink() }, nil},
		{"time to try again", func() { d.links.again = time.Now(); d.relink() },
			[]string{"connect server 1 c"}},
		{"nothing left to try", func() { d.links.again = time.Now(); d.relink() }, nil},
	} {
		step.do()
		if got := ep.took(); !slices.Equal(got, step.want) {
			t.Errorf("%s: %v, want %v", step.name, got, step.want)
		}
	}
}
