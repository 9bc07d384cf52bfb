package plan

import (
	"fmt"
	"math"
	"slices"

	"gomx/kvstore/compress"
)

// Host is the calibration of a machine. All times are seconds, all sizes bytes.
type Host struct {
	Processor string          `json:"processor"` // model
	Cores     int             `json:"cores"`
	Version   string          `json:"version"` // of gomx
	Ways      map[string]*Way `json:"ways"`    // by the names of Ways
	// Codecs has the times per element of a compressed gradient, by the name of the code.
	Codecs map[string]Codec `json:"codecs"`
	Copy   float64          `json:"copy"` // bytes per second of a copy in memory
	// Beside is the time by which a step of a worker with servers takes longer than its kernels,
	// beside the processor time of messages: threads wait for a core on which others run, and
	// messages take the caches of kernels. RingBeside is that time with the allreduce store.
	Beside     float64 `json:"beside"`
	RingBeside float64 `json:"ring_beside,omitempty"`
	// Crowd is the factor by which threads take longer when more of them want to run than there are
	// cores: switches between them, cold caches, and cores that are idle because the threads cannot
	// be divided evenly. 0 means 1.
	Crowd float64 `json:"crowd"`
	// Updates are the times in which a worker of the allreduce store changes a key by its sum.
	Updates []Update   `json:"updates,omitempty"`
	Memory  HostMemory `json:"memory"`
	// RingMemory is the memory of jobs with the allreduce store.
	RingMemory HostMemory `json:"ring_memory,omitempty"`
}

// The ways on which messages travel.
const (
	WayShared = "shm"   // local sockets, and shared memory for large payloads
	WayTCP    = "tcp"   // TCP without encryption
	WayBulk   = "bulk"  // TCP, with payloads encrypted by TLS
	WayCurve  = "curve" // TCP, with everything encrypted by CURVE
)

// WayNames lists the ways.
func WayNames() []string { return []string{WayShared, WayTCP, WayBulk, WayCurve} }

// Way is the cost of messages on one way between processes.
type Way struct {
	// Latency is the time from the moment at which a message is handed over until the receiver
	// handles it, beside processor time, with idle cores.
	Latency float64 `json:"latency"`
	Points  []Point `json:"points"`
	// Rings are points of the allreduce store: Worker is the time of one message that is sent and
	// one that is received, Server is 0.
	Rings []Point `json:"rings,omitempty"`
}

// Point is the processor time of the exchange of one slice: every worker pushes it and pulls the
// new value.
type Point struct {
	Workers int     `json:"workers"` // number of workers of the measured job
	Bytes   float64 `json:"bytes"`   // of the slice
	Worker  float64 `json:"worker"`  // of a worker: to send the gradient and to receive the value
	Server  float64 `json:"server"`  // of the server, for all workers together
}

// Update is the time in which an optimizer changes a key of a size.
type Update struct {
	Bytes   float64 `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

// Codec is the cost of a code of compressed gradients, in seconds per element.
type Codec struct {
	Encode float64 `json:"encode"`
	Add    float64 `json:"add"`
}

// HostMemory is the memory of processes beside their arrays, in bytes.
type HostMemory []MemoryPoint

// MemoryPoint is the memory of the processes of one measured job.
type MemoryPoint struct {
	Workers int     `json:"workers"` // number of workers of the job
	Keys    float64 `json:"keys"`    // bytes of its keys
	Store   float64 `json:"store"`   // memory that the store adds to a worker
	Server  float64 `json:"server"`  // resident memory of the server
}

// Compute is the measured work of a network on one worker.
type Compute struct {
	Seconds []float64 `json:"seconds"` // of each segment on one idle machine
	Host    float64   `json:"host"`    // processor time of a step outside of the segments
	// Speeds are the speeds of a thread when 1, 2 and more threads compute at the same time,
	// relative to one thread alone.
	Speeds []float64 `json:"speeds"`
	Jitter float64   `json:"jitter"` // standard deviation of the time of a step, relative to it
	Memory int64     `json:"memory"` // peak of the resident memory of a process that trains alone
	Arrays int64     `json:"arrays"` // bytes of the arrays of that process
}

// Step returns the time of a step without any communication.
func (c *Compute) Step() (seconds float64) {
	for _, s := range c.Seconds {
		seconds += s
	}
	return seconds
}

// check reports a calibration that cannot belong to a network.
func (c *Compute) check(n *Network) error {
	if len(c.Seconds) != len(n.Segments) {
		return fmt.Errorf("plan: times of %d segments, want %d: measure the network again",
			len(c.Seconds), len(n.Segments))
	}
	return nil
}

// speed returns the relative speed of each of so many busy threads.
func (c *Compute) speed(threads int) float64 {
	if len(c.Speeds) == 0 || threads < 1 {
		return 1
	}
	return c.Speeds[min(threads, len(c.Speeds))-1]
}

// cost returns the processor time of a slice, of a worker and of the server, interpolated between
// the measured sizes and numbers of workers.
func (w *Way) cost(list []Point, workers int, bytes float64) (worker, server float64) {
	at := func(p *Point) (int, float64) { return p.Workers, p.Bytes }
	worker = surface(list, at, func(p *Point) float64 { return p.Worker }, workers, bytes)
	server = surface(list, at, func(p *Point) float64 { return p.Server }, workers, bytes)
	return max(0, worker), max(0, server)
}

// update returns the time in which a worker of the allreduce store changes a key of some bytes.
func (h *Host) update(bytes float64) float64 {
	var l line
	for _, u := range h.Updates {
		l.add(u.Bytes, u.Seconds)
	}
	return max(0, l.at(bytes))
}

// beside returns the time by which a step of a job takes longer than its kernels.
func (h *Host) beside(j *Job) float64 {
	if j.Store == StoreRing {
		return h.RingBeside
	}
	return h.Beside
}

// of returns the memory that a store adds to each of so many workers, and the memory of a server
// with keys of so many bytes.
func (m HostMemory) of(workers int, keys float64) (store, server float64) {
	at := func(p *MemoryPoint) (int, float64) { return p.Workers, p.Keys }
	store = surface(m, at, func(p *MemoryPoint) float64 { return p.Store }, workers, keys)
	server = surface(m, at, func(p *MemoryPoint) float64 { return p.Server }, workers, keys)
	return store, server
}

// surface interpolates a figure of points: between sizes, and between numbers of workers. Beyond
// the largest of either, it goes on as between the last two, or stays as it is where there is one.
func surface[P any](points []P, at func(*P) (workers int, size float64), figure func(*P) float64,
	workers int, size float64) float64 {
	rows := map[int]*line{}
	for i := range points {
		n, x := at(&points[i])
		if rows[n] == nil {
			rows[n] = &line{}
		}
		rows[n].add(x, figure(&points[i]))
	}
	var whole line
	for n, row := range rows {
		whole.add(float64(n), row.at(size))
	}
	return whole.at(float64(workers))
}

// line is a figure by size.
type line struct{ x, y []float64 }

// add adds a point; sizes are kept in order.
func (l *line) add(x, y float64) {
	i, _ := slices.BinarySearch(l.x, x)
	l.x, l.y = slices.Insert(l.x, i, x), slices.Insert(l.y, i, y)
}

// at interpolates.
func (l *line) at(x float64) float64 {
	n := len(l.x)
	switch {
	case n == 0:
		return 0
	case n == 1 || x <= l.x[0]:
		return l.y[0]
	}
	i := 1
	for i < n-1 && l.x[i] < x {
		i++
	}
	return l.y[i-1] + (l.y[i]-l.y[i-1])*(x-l.x[i-1])/(l.x[i]-l.x[i-1])
}

// ringError reports that the allreduce store was not measured.
func (h *Host) ringError() error {
	for _, w := range h.Ways {
		if len(w.Rings) > 0 {
			return nil
		}
	}
	return fmt.Errorf("plan: the calibration has no times of the store %s, want a build with it",
		StoreRing)
}

// codecOf returns the cost of a method; a method that was not measured costs a copy.
func (h *Host) codecOf(m compress.Method) Codec {
	if m.Kind == compress.None {
		return Codec{}
	}
	if c, ok := h.Codecs[m.Kind.String()]; ok {
		return c
	}
	each := 4 / math.Max(h.Copy, 1e9)
	return Codec{Encode: each, Add: each}
}
