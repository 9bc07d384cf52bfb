package plan

import (
	"slices"

	"gomx/kvstore/ps/node"
)

// Priorities of tasks of a worker's network thread: values that have arrived go before gradients
// that are to be sent.
const arrivals = 1 << 20

// simWorker is a worker in virtual time.
type simWorker struct {
	s       *simulation
	rank    int
	machine int
	compute lane // of the engine
	network lane // sends and receives
	host    lane // the training loop

	step    int
	left    int     // segments of the step that have not ended
	factor  float64 // of the times of kernels in the step
	pending []int   // by segment: the number of its reasons to wait
	keys    []simKey
	routes  []route // by server
	ends    []float64
	ring    *ring // nil with servers
}

// simKey is the state of a key on a worker.
type simKey struct {
	uses    int   // segments of the step that use it and have not ended
	busy    bool  // an exchange is under way
	waits   []int // segments of the next step that wait for the exchange
	missing int   // slices of the exchange that have not arrived
	clock   int   // exchanges begun
}

// route is the way to a server.
type route struct {
	bytes int64     // sent, and not taken in by the server
	ready []urgency // pieces that wait for credit, the next one last
}

// urgency is the place of a piece among those that wait.
type urgency struct{ piece, priority int }

// add puts a piece behind all pieces that are at least as urgent.
func (r *route) add(u urgency) {
	i := len(r.ready)
	for i > 0 && r.ready[i-1].priority >= u.priority {
		i--
	}
	r.ready = slices.Insert(r.ready, i, u)
}

func (s *simulation) newWorker(rank int) *simWorker {
	at := s.job.worker(rank)
	m := s.machines[at]
	w := &simWorker{s: s, rank: rank, machine: at, compute: lane{machine: m, width: m.cores},
		network: lane{machine: m, width: 1}, host: lane{machine: m, width: 1},
		pending: make([]int, len(s.net.Segments)), keys: make([]simKey, len(s.net.Keys)),
		routes: make([]route, s.job.Servers)}
	return w
}

// last returns the instant at which the last worker ended a step.
func (w *simWorker) last(step int, all []*simWorker) (t float64) {
	for _, x := range all {
		t = max(t, x.ends[step])
	}
	return t
}

// begin starts a step: all segments of the step before have ended, because they use the same
// memory.
func (w *simWorker) begin() {
	s := w.s
	w.left, w.factor = len(s.net.Segments), s.jitter(w.rank, w.step)*s.effects.compute
	if step := s.compute.Step(); step > 0 {
		w.factor *= 1 + s.host.beside(s.job)/step
	}
	if s.compute.Host > 0 {
		w.host.push(0, &task{left: s.compute.Host * s.effects.compute, done: func() {}})
	}
	for k := range w.keys {
		w.keys[k].uses = s.net.Keys[k].Uses
	}
	var ready []int
	for i := range s.net.Segments {
		seg := &s.net.Segments[i]
		w.pending[i] = len(seg.Needs)
		for _, k := range seg.Keys {
			if w.keys[k].busy {
				w.keys[k].waits = append(w.keys[k].waits, i)
				w.pending[i]++
			}
		}
		if w.pending[i] == 0 {
			ready = append(ready, i)
		}
	}
	for _, i := range ready {
		w.start(i)
	}
}

// start runs a segment that waits for nothing.
func (w *simWorker) start(i int) {
	seg := &w.s.net.Segments[i]
	w.compute.push(0, &task{left: w.s.compute.Seconds[i] * w.factor, threads: seg.Threads,
		compute: true, done: func() { w.ended(i) }})
}

// release takes one reason to wait from a segment.
func (w *simWorker) release(i int) {
	if w.pending[i]--; w.pending[i] == 0 {
		w.start(i)
	}
}

// ended follows the end of a segment.
func (w *simWorker) ended(i int) {
	for _, k := range w.s.net.Segments[i].Keys {
		if w.keys[k].uses--; w.keys[k].uses == 0 {
			w.exchange(k)
		}
	}
	for _, next := range w.s.after[i] {
		w.release(next)
	}
	if w.left--; w.left > 0 {
		return
	}
	w.ends = append(w.ends, w.s.now)
	if w.step++; w.step < totalSteps {
		w.begin()
		return
	}
	w.s.left()
}

// exchange pushes the gradient of a key and pulls its value.
func (w *simWorker) exchange(k int) {
	key := &w.keys[k]
	key.busy = true
	key.clock++
	if w.ring != nil {
		w.ring.push(w, k)
		return
	}
	key.missing = len(w.s.byKey[k])
	priority := -k
	if w.s.net.Keys[k].State {
		priority = 0
	}
	for _, p := range w.s.byKey[k] {
		server := w.s.pieces[p].server
		w.routes[server].add(urgency{p, priority})
		w.pump(server)
	}
}

// credit is the number of bytes that a worker may have on their way to a server.
var credit = func() int64 {
	var window, ahead, bytes int
	node.FillLimits(&window, &ahead, &bytes)
	return int64(bytes)
}()

// pump sends as many slices to a server as the credit allows.
func (w *simWorker) pump(server int) {
	r := &w.routes[server]
	for len(r.ready) > 0 {
		u := r.ready[len(r.ready)-1]
		if r.bytes > 0 && r.bytes+w.s.pieces[u.piece].push > credit {
			return
		}
		r.ready = r.ready[:len(r.ready)-1]
		w.send(u.piece, u.priority)
	}
}

// send sends a slice.
func (w *simWorker) send(p, priority int) {
	s, piece := w.s, &w.s.pieces[p]
	sv := s.servers[piece.server]
	w.routes[piece.server].bytes += piece.push
	c := s.costOf(s.job.way(w.machine, sv.machine), piece)
	w.network.push(priority, &task{left: c.send, done: func() {
		s.carry(w.machine, sv.machine, piece.push, func() { sv.arrived(w, p) })
	}})
}

// taken follows the receipt of a push by a server.
func (w *simWorker) taken(p int) {
	piece := &w.s.pieces[p]
	w.routes[piece.server].bytes -= piece.push
	w.pump(piece.server)
}

// value follows the arrival of a value.
func (w *simWorker) value(p int) {
	piece := &w.s.pieces[p]
	c := w.s.costOf(w.s.job.way(w.machine, w.s.servers[piece.server].machine), piece)
	w.network.push(arrivals, &task{left: c.receive, done: func() {
		if w.keys[piece.key].missing--; w.keys[piece.key].missing == 0 {
			w.exchanged(piece.key)
		}
	}})
}

// exchanged follows the end of the exchange of a key.
func (w *simWorker) exchanged(k int) {
	key := &w.keys[k]
	key.busy = false
	waits := key.waits
	key.waits = nil
	for _, i := range waits {
		w.release(i)
	}
}
