package plan

import (
	"math"
	"math/rand/v2"
)

// simulation is a job in virtual time.
type simulation struct {
	clock
	net      *Network
	compute  *Compute
	host     *Host
	job      *Job
	effects  effects
	machines []*machine
	ports    []port
	pieces   []piece
	byKey    [][]int // pieces of each key
	after    [][]int // segments that need a segment, by segment
	costs    map[costKey]cost
	workers  []*simWorker
	servers  []*simServer
	ending
}

// ending is the state of a simulation at its end.
type ending struct {
	running int     // workers that have not ended their steps
	busiest float64 // used share of the cores of a machine, up to the end of the last worker
}

// effects are changes of a machine, which show the limit of a job.
type effects struct {
	compute float64 // factor of the times of kernels
	server  float64 // factor of the processor time of servers
	network float64 // factor of the times of links, of latencies and of the workers' messages
	jitter  float64 // factor of the differences between steps
}

// real changes nothing.
var real = effects{1, 1, 1, 1}

// Steps of a simulation: the first ones begin with empty queues and are not counted.
const (
	warmSteps  = 3
	totalSteps = 9
)

// outcome is the result of a simulation.
type outcome struct {
	throughput float64 // samples per second of all workers
	step       float64 // seconds from one step of a worker to the next
	cores      float64 // share of the cores' time that is used, on the busiest machine
}

// simulate runs a job.
func simulate(n *Network, c *Compute, h *Host, j *Job, e effects) outcome {
	s := &simulation{net: n, compute: c, host: h, job: j, effects: e,
		pieces: j.pieces(n), byKey: make([][]int, len(n.Keys)),
		after: make([][]int, len(n.Segments)), costs: map[costKey]cost{}}
	for i := range s.pieces {
		k := s.pieces[i].key
		s.byKey[k] = append(s.byKey[k], i)
	}
	for i := range n.Segments {
		for _, k := range n.Segments[i].Needs {
			s.after[k] = append(s.after[k], i)
		}
	}
	for range j.Machines.Count {
		s.machines = append(s.machines, &machine{clock: &s.clock, cores: j.Machines.Cores,
			speed: c.speed, crowd: max(1, h.Crowd)})
		s.ports = append(s.ports, port{})
	}
	for i := range j.Servers {
		s.servers = append(s.servers, s.newServer(i))
	}
	for i := range j.Workers {
		s.workers = append(s.workers, s.newWorker(i))
	}
	s.running = j.Workers
	var ring *ring
	if j.Store == StoreRing {
		ring = s.newRing()
	}
	for _, w := range s.workers {
		w.ring = ring
		w.begin()
	}
	s.run()
	return s.outcome()
}

// outcome reads the times of the steps.
func (s *simulation) outcome() (o outcome) {
	var begin, end float64
	for i, w := range s.workers {
		from, to := w.ends[warmSteps-1], w.ends[totalSteps-1]
		if i == 0 || from < begin {
			begin = from
		}
		end = max(end, to)
		each := (to - from) / (totalSteps - warmSteps)
		o.step += each / float64(len(s.workers))
		o.throughput += float64(s.net.Batch) / each
	}
	if s.job.rounds() || s.job.Store == StoreRing {
		// All workers take the same time; the slowest tells it best.
		o.step = (end - s.workers[0].last(warmSteps-1, s.workers)) / (totalSteps - warmSteps)
		o.throughput = float64(s.net.Batch*len(s.workers)) / o.step
	}
	o.cores = s.busiest
	return o
}

// left follows the end of a worker's last step.
func (s *simulation) left() {
	if s.running--; s.running > 0 {
		return
	}
	for _, m := range s.machines {
		m.advance()
		s.busiest = max(s.busiest, m.busy/(s.now*float64(m.cores)))
	}
}

// jitter returns the factor of the times of kernels in a step of a worker. It is the same in every
// simulation.
func (s *simulation) jitter(rank, step int) float64 {
	if s.compute.Jitter == 0 || s.effects.jitter == 0 {
		return 1
	}
	r := rand.New(rand.NewPCG(uint64(rank), uint64(step)))
	return math.Max(0.5, 1+s.effects.jitter*s.compute.Jitter*r.NormFloat64())
}

// cost is the processor time of a slice.
type cost struct {
	send, receive  float64 // of a worker
	intake, answer float64 // of a server for each worker: to take the push in, to send the value
	update         float64 // of a server for each round
}

// costKey tells pieces apart whose costs differ.
type costKey struct {
	way         string
	push, value int64
	coded       int64
}

// costOf returns the processor time of a slice on a way. The measured time of a server for one
// worker and for several workers tells the part that does not depend on the number of workers.
func (s *simulation) costOf(way string, p *piece) cost {
	key := costKey{way, p.push, p.value, p.coded}
	if c, ok := s.costs[key]; ok {
		return c
	}
	w := s.host.Ways[way]
	if w == nil {
		return cost{}
	}
	half := func(bytes int64) (worker, each, round float64) {
		worker, all := w.cost(w.Points, s.job.Workers, float64(bytes))
		_, one := w.cost(w.Points, 1, float64(bytes))
		each = all / float64(s.job.Workers)
		if n := s.job.Workers; n > 1 {
			each = max(0, (all-one)/float64(n-1))
			round = max(0, all-each*float64(n))
		} else {
			_, two := w.cost(w.Points, 2, float64(bytes))
			each = min(each, max(0, two-one))
			round = one - each
		}
		return worker / 2, each / 2, round
	}
	var c cost
	var round float64
	c.send, c.intake, _ = half(p.push)
	c.receive, c.answer, round = half(p.value)
	c.update = round
	if p.coded > 0 {
		code := s.host.codecOf(s.job.Compression)
		c.send += code.Encode * float64(p.coded)
		c.intake += code.Add * float64(p.coded)
	}
	c.send *= s.effects.network
	c.receive *= s.effects.network
	c.intake *= s.effects.server
	c.answer *= s.effects.server
	c.update *= s.effects.server
	s.costs[key] = c
	return c
}

// carry lets a message travel between machines and calls arrived.
func (s *simulation) carry(from, to int, bytes int64, arrived func()) {
	latency := 0.0
	if w := s.host.Ways[s.job.way(from, to)]; w != nil {
		latency = w.Latency * s.effects.network
	}
	if from == to {
		s.at(s.now+latency, arrived)
		return
	}
	l := s.job.Machines.Link
	l.Latency *= s.effects.network
	if s.effects.network == 0 {
		l.Bandwidth = 0
	} else {
		l.Bandwidth /= s.effects.network
	}
	s.at(latency+l.carry(s.now, &s.ports[from], &s.ports[to], float64(bytes)), arrived)
}
