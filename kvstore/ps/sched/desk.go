package sched

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// desk is the common ground of all parts of a scheduler: its settings, the view that they decide,
// and the views that are durable.
//
// Invariants:
//  1. The numbers of told, writing and view never fall; told is older than writing, and writing is
//     not newer than view.
//  2. Nodes are sent told, and no other view.
type desk struct {
	cfg   Config
	out   ps.Outbox
	now   ps.Time // clock of the driver in this reaction
	awake node.Wakefulness

	view    *wire.View // as it is decided
	changed bool       // view differs from the last one that was handed out to be made durable
	writing *wire.View // is being made durable; nil when none is
	told    *wire.View // the last one that is durable, which others know
	body    []byte     // encoding of told
	// number of a view of which no node is to hear: the next one takes something in it back
	hushed uint64
}

// newDesk returns the desk of a scheduler whose settings are complete.
func newDesk(c Config) *desk {
	d := &desk{cfg: c}
	if c.View != nil {
		d.view, d.told = c.View.Clone(), c.View.Clone()
		d.body = d.told.Append(nil)
		return d
	}
	d.view = &wire.View{Job: c.Job, Next: 1, Products: c.Products}
	for i := range c.Servers {
		d.view.Servers = append(d.view.Servers, wire.Member{Node: wire.Node{Role: wire.Server,
			Rank: uint16(i)}})
	}
	for i := range c.Workers {
		d.view.Workers = append(d.view.Workers, wire.Member{Node: wire.Node{Role: wire.Worker,
			Rank: uint16(i)}})
		d.view.Group.Ranks = append(d.view.Group.Ranks, uint16(i))
	}
	d.told = d.view.Clone()
	return d
}

// each calls f for all places.
func (d *desk) each(f func(m *wire.Member)) {
	for i := range d.view.Servers {
		f(&d.view.Servers[i])
	}
	for i := range d.view.Workers {
		f(&d.view.Workers[i])
	}
}

// message returns a message of the scheduler without contents.
func (d *desk) message(t wire.Type) wire.Message {
	return wire.Message{Type: t, Job: d.cfg.Job, From: node.Scheduler, Epoch: d.cfg.Term}
}

// send puts a message into the outbox. Its payload must stay as it is until the outbox is emptied.
func (d *desk) send(to wire.Node, m wire.Message) {
	d.out.Sends = append(d.out.Sends, ps.Send{To: to, Msg: m})
}

// tell sends the view that is durable to a node. Views are not acknowledged: a node that has missed
// one names an older one in its next heartbeat, and is told again.
func (d *desk) tell(n wire.Node) {
	if d.told.Number == 0 {
		return // everybody is told when there is one
	}
	m := d.message(wire.TypeView)
	m.Payload = d.body
	m.SetViewNumber(d.told.Number)
	d.send(n, m)
}

// tellWaiting tells a worker for which node a message of it waits.
func (d *desk) tellWaiting(to wire.Node, m *wire.Message, on wire.Node) {
	if on.IsZero() {
		return
	}
	r := d.message(wire.TypeWaiting)
	r.Target = m.Incarnation
	r.SetWait(wire.Wait{On: on, Of: m.Type, Seq: m.Seq})
	d.send(to, r)
}

// counts reports whether others wait for a worker.
func (d *desk) counts(m *wire.Member) bool {
	return !m.Left && !m.Waits && (m.Alive || d.cfg.Policy != ps.Shrink)
}

// beyond reports whether the job is not to have a process in a place: one that comes there leaves
// again, such as the successor of a process that has died before it could leave.
func (d *desk) beyond(n wire.Node) bool {
	want := d.view.WantWorkers
	if n.Role == wire.Server {
		want = d.view.WantServers
	}
	return want > 0 && uint32(n.Rank) >= want
}

// replica returns a copy on the process that holds a server's place now.
func (d *desk) replica(rank int) wire.Replica {
	return wire.Replica{Server: uint16(rank), Incarnation: d.view.Servers[rank].Incarnation}
}

// current reports whether a copy's process still holds its place, alive or not.
func (d *desk) current(r wire.Replica) bool {
	return !r.IsZero() && d.view.Servers[r.Server].Incarnation == r.Incarnation &&
		!d.view.Servers[r.Server].Left
}

// alive reports whether a copy's process holds its place and is heard of.
func (d *desk) alive(r wire.Replica) bool {
	return d.current(r) && d.view.Servers[r.Server].Alive
}
