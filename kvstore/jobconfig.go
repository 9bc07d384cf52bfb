package kvstore

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net/http"
	"time"

	"gomx/kvstore/ps"
	"gomx/kvstore/spans"
	"gomx/kvstore/transport"
	"gomx/kvstore/view"
	"gomx/kvstore/wire"

	"github.com/rs/zerolog"
)

// JobConfig describes a job and the place of one process in it. All processes of a job agree on ID,
// Workers, Servers, Replicas, Policy and Backups. Package launch fills it in from the environment.
type JobConfig struct {
	Node wire.Node // role and rank of this process
	// Scheduler is the address of the scheduler, at which the scheduler itself listens. With a
	// View, servers and workers need none: they find the scheduler that leads.
	Scheduler string
	ID        uint64 // messages of other jobs are dropped

	// Workers and Servers are the numbers with which the job begins. Processes with higher ranks
	// may come later: see Elastic.
	//
	// Without servers the workers connect to each other: such a job has the store allreduce, and no
	// other.
	Workers  int
	Servers  int
	Replicas int       // copies of every shard, 1 or 2; 0: 1
	Policy   ps.Policy // how rounds go on when a worker dies
	// Products, of the scheduler, are the classes of products that all workers compute in bfloat16,
	// as device.Products spells them, see Job.Products; empty: every worker chooses.
	Products string
	// Backups is the number of workers that a round does without: it closes when all others have
	// contributed, and later pushes count in no round.
	Backups int

	// Listening is called in a scheduler with the address under which others reach it, as soon as
	// it listens; nil: nobody is told.
	Listening func(addr string)

	Open   Opener // opens this process's endpoint
	Listen string // where it listens, in the words of the transport; empty: wherever it likes
	Peers  string // where further endpoints of a worker listen, for other workers; as Listen
	Dir    string // folder for the scheduler's view; empty: the view is not kept
	// View keeps the scheduler's view and elects the scheduler among several candidates. Nil: there
	// is one scheduler, and Dir holds its view. The caller closes the store after the job.
	View view.Store

	// Snapshots is the folder for snapshots of the job, which scheduler and servers share; empty:
	// there are none. Restore is the folder of the one that the job continues from, the same for
	// all servers; see LatestSnapshot.
	Snapshots, Restore string

	// Memory limits the bytes that a server needs for its keys: two values of each, and the pushes
	// that workers may send ahead. A key beyond the limit is refused with ps.ErrRejected. 0: no
	// limit.
	Memory uint64

	SliceSize int           // bytes; longer keys are sliced; 0: 1 MiB, at most 64 MiB
	Heartbeat time.Duration // 0: 0.5 s
	Dead      time.Duration // silence after which a node counts as dead; 0: 3 s
	// Patience is how long a process waits for a scheduler that is silent, and the scheduler for
	// the copies of a shard that are all silent, while the process that waits is awake itself. Then
	// the job ends, with ErrNoScheduler or ErrLost. 0: 100 s.
	Patience time.Duration
	Status   string // address for health and metrics; empty: none
	// Metrics makes the page /metrics from the status of the process, as package monitor does; nil:
	// the page does not exist.
	Metrics func(status func() Status) http.Handler
	// Tracer records the spans of every step whose number TraceEvery divides, 0: every hundredth. It
	// is set in all processes of a job or in none; nil: no traces.
	Tracer     spans.Tracer
	TraceEvery uint64
	// Announce is called with the address of health and metrics once they are served.
	Announce func(addr string)
	Log      zerolog.Logger
	// OnDrain is given a function that asks the process to leave the job, once it has a place. The
	// function reports false when the process cannot leave without loss: it ends at once then. Nil:
	// the process is never asked.
	OnDrain func(drain func() bool)
}

func (c *JobConfig) validate() error {
	switch {
	case !c.Node.Role.Valid():
		return fmt.Errorf("kvstore: job of %s, want a scheduler, server or worker", c.Node)
	case c.Open == nil:
		return fmt.Errorf("kvstore: job without a transport")
	case c.Workers < 1 || c.Servers < 0:
		return fmt.Errorf("kvstore: job of %d workers and %d servers, want at least one worker",
			c.Workers, c.Servers)
	case c.Replicas < 0 || c.Replicas > 2 || c.Replicas > max(1, c.Servers):
		return fmt.Errorf("kvstore: %d replicas on %d servers, want 1 or 2, and at most one per "+
			"server", c.Replicas, c.Servers)
	case c.Backups < 0 || c.Backups >= c.Workers:
		return fmt.Errorf("kvstore: rounds without the slowest %d of %d workers, want fewer",
			c.Backups, c.Workers)
	case c.Node.Role != wire.Scheduler && c.Node.Rank >= maxRank:
		return fmt.Errorf("kvstore: %s, want a rank below %d", c.Node, maxRank)
	case c.Node.Role != wire.Scheduler && c.Scheduler == "" && c.View == nil:
		return fmt.Errorf("kvstore: %s does not know where the scheduler is", c.Node)
	}
	c.Replicas = max(1, c.Replicas)
	if c.SliceSize == 0 {
		c.SliceSize = DefaultSlice
	}
	if c.SliceSize < 64 || c.SliceSize > maxSlice {
		return fmt.Errorf("kvstore: slices of %d bytes, want 64 to %d", c.SliceSize, maxSlice)
	}
	return nil
}

func (c *JobConfig) timing() ps.Timing {
	return ps.Timing{Heartbeat: ps.Time(c.Heartbeat), Dead: ps.Time(c.Dead),
		Patience: ps.Time(c.Patience)}
}

// onDrain passes on the function that asks this process to leave.
func (c *JobConfig) onDrain(drain func() bool) {
	if c.OnDrain != nil {
		c.OnDrain(drain)
	}
}

// maxRank bounds the ranks of processes that come later: guests have higher ones.
const maxRank = 1 << 12

// KernelThreads returns the number of threads for the kernels of each process on a machine whose
// cores several workers share. All servers on it together are about as busy as one worker.
func KernelThreads(cores, workers, servers int) int {
	return max(1, cores/(workers+min(1, servers)))
}

// DefaultSlice is the length in bytes at which keys are sliced unless JobConfig.SliceSize says
// another one.
const DefaultSlice = 1 << 20

// maxSlice is the size in bytes of the longest slice; a key that is not sliced is one slice. The
// messages that copy a shard hold a slice, its value before, and the optimizer's state: up to six
// times as many bytes.
const (
	maxSlice   = 64 << 20
	maxPayload = 8 * maxSlice
)

// transport is the endpoint's configuration.
func (c *JobConfig) transport() transport.Config {
	t := transport.Config{Job: c.ID, Listen: c.Listen, MaxPayload: maxPayload}
	if c.Node.Role == wire.Scheduler && t.Listen == "" {
		t.Listen = c.Scheduler
	}
	return t
}

// nonce draws the number by which a process recognizes its own hello.
func nonce() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:]) | 1
}

// Shards returns the number of shards of a job that begins with so many servers: more than one per
// server, so that the load of a server that dies is shared by the others. Shard i begins on server
// i modulo the number of servers.
func Shards(servers int) int { return min(servers*max(1, servers-1), 4*servers) }

// shards returns the number of shards of the job. A job that continues from a snapshot has as many
// as the snapshot.
func (c *JobConfig) shards() int {
	if c.Restore != "" {
		if m, err := readManifest(c.Restore); err == nil {
			return len(m.Files)
		}
	}
	return Shards(c.Servers)
}
