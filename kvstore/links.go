package kvstore

import (
	"context"
	"time"

	"gomx/kvstore/transport"
	"gomx/kvstore/view"
	"gomx/kvstore/wire"
)

// links are a driver's connections to servers. The driver's mu guards them.
type links struct {
	to      map[wire.Node]string // addresses
	failed  map[wire.Node]string // addresses that there is no connection to, though it was tried
	again   time.Time            // when to try those once more
	pending bool                 // there are some
	peers   bool                 // of a worker: it connects to the other workers
}

func newLinks() links {
	return links{to: map[wire.Node]string{}, failed: map[wire.Node]string{}}
}

// relinkEvery is how often a connection is tried that could not be made.
const relinkEvery = time.Second

// link connects to every other server that a view names: servers replicate to each other, workers
// push to all. It gives up the connections to dead servers without a copy of a shard, with the
// messages queued for them.
func (d *driver) link(v *wire.View) {
	if d.self.Role == wire.Scheduler || d.closed {
		return // everybody connects to the scheduler
	}
	l := &d.links
	l.pending = false
	for i := range v.Servers {
		m := &v.Servers[i]
		switch {
		case m.Node == d.self:
		case !m.Alive && !holds(v, m):
			d.unlink(m.Node)
		case m.Addr == l.to[m.Node] || m.Addr == "" || !m.Alive:
		default:
			d.connect(m.Node, m.Addr)
		}
	}
	if l.peers {
		d.linkPeers(v)
	}
}

// linkPeers connects to every other worker. The connection to a dead one stays until another
// process takes over its place.
func (d *driver) linkPeers(v *wire.View) {
	for i := range v.Workers {
		m := &v.Workers[i]
		if m.Node != d.self && !m.Left && m.Addr != "" && m.Addr != d.links.to[m.Node] {
			d.connect(m.Node, m.Addr)
		}
	}
}

// holds reports whether a server has a copy of a shard. One that is silent may have the only one,
// and be silent towards the scheduler alone.
func holds(v *wire.View, m *wire.Member) bool {
	me := wire.Replica{Server: m.Node.Rank, Incarnation: m.Incarnation}
	for i := range v.Shards {
		if v.Shards[i].Primary == me || v.Shards[i].Backup == me || v.Shards[i].Third == me {
			return true
		}
	}
	return false
}

// connect connects to a server, or notes that it must be tried again.
func (d *driver) connect(n wire.Node, addr string) {
	l := &d.links
	if err := d.ep.Connect(n, addr); err != nil {
		l.pending, l.again = true, time.Now().Add(relinkEvery)
		if l.failed[n] != addr { // said once
			l.failed[n] = addr
			d.log.Error().Err(err).Stringer("node", n).Msg("cannot connect")
		}
		return
	}
	l.to[n] = addr
	delete(l.failed, n)
}

// unlink gives up the connection to a server, if there is one.
func (d *driver) unlink(n wire.Node) {
	if d.links.to[n] != "" {
		d.ep.Disconnect(n)
		delete(d.links.to, n)
	}
}

// relink tries connections again that could not be made.
func (d *driver) relink() {
	if d.links.pending && !time.Now().Before(d.links.again) {
		d.link(d.machine.View())
	}
}

// recall drops the connections to servers and makes them anew. With a dropped connection the
// transport returns the payloads that it was lent for that server.
func (d *driver) recall(nodes []wire.Node) {
	for _, n := range nodes {
		d.unlink(n)
		d.log.Info().Stringer("node", n).Msg(
			"connection made anew: a call ran out of time with messages on their way")
	}
	if v := d.machine.View(); v != nil {
		d.link(v)
	}
}

// reach connects a server or worker to the scheduler: to its fixed address, or to the scheduler
// that leads, now and whenever another one leads.
func (d *driver) reach(c *JobConfig) error {
	ctx, cancel := context.WithCancel(context.Background())
	d.done.Go(func() { <-d.stop; cancel() })
	return c.connectScheduler(ctx, d.ep, d.done.Go)
}

// connectScheduler connects an endpoint to the scheduler. If the job has a store, the connection
// follows the leader on a goroutine that run starts, until ctx ends.
func (c *JobConfig) connectScheduler(ctx context.Context, ep transport.Endpoint,
	run func(func())) error {
	node := wire.Node{Role: wire.Scheduler}
	if c.View == nil {
		return ep.Connect(node, c.Scheduler)
	}
	run(func() {
		c.View.Watch(ctx, func(l view.Leader) {
			log := c.Log.Info()
			if err := ep.Connect(node, l.Addr); err != nil {
				log = c.Log.Error().Err(err)
			}
			log.Uint64("term", l.Term).Str("addr", l.Addr).Msg("the scheduler that leads")
		})
	})
	return nil
}
