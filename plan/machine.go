package plan

import (
	"container/heap"
	"slices"
)

// machine shares its cores among the threads that want to run: if there are more of them than
// cores, all run equally slowly, and longer by the factor crowd.
type machine struct {
	*clock
	cores   int
	speed   func(threads int) float64 // of each thread that computes, by the number of busy threads
	crowd   float64                   // factor of the times while more threads than cores run
	running []*task
	since   float64 // instant up to which the running tasks have been advanced
	turn    uint64  // counts changes, so that events that were planned before have no effect
	busy    float64 // core seconds so far
}

// task is processor time that a thread needs.
type task struct {
	left    float64 // seconds on a core of its own
	threads int     // cores that it occupies
	compute bool    // it slows down when other threads use the same caches and memory
	rate    float64
	done    func()
}

// start lets a task run from now on.
func (m *machine) start(t *task) {
	m.advance()
	m.running = append(m.running, t)
	m.plan()
}

// advance takes the time since the last change off the running tasks.
func (m *machine) advance() {
	passed := m.now - m.since
	m.since = m.now
	for _, t := range m.running {
		t.left -= passed * t.rate
		m.busy += passed * t.rate * float64(t.threads)
	}
}

// tiny is a time in seconds that makes no difference.
const tiny = 1e-12

// plan gives every task its rate and plans the end of the first one.
func (m *machine) plan() {
	m.turn++
	if len(m.running) == 0 {
		return
	}
	wanted := 0
	for _, t := range m.running {
		wanted += t.threads
	}
	share, gang := 1.0, 1.0
	if wanted > m.cores {
		share = float64(m.cores) / float64(wanted) / m.crowd
		gang = 1 / float64((wanted+m.cores-1)/m.cores) / m.crowd
	}
	slow := m.speed(min(wanted, m.cores))
	first := -1.0
	for _, t := range m.running {
		t.rate = share
		if t.threads > 1 { // a kernel is as fast as the slowest of its threads
			t.rate = gang
		}
		if t.compute {
			t.rate *= slow
		}
		if end := max(0, t.left) / t.rate; first < 0 || end < first {
			first = end
		}
	}
	turn := m.turn
	m.at(m.now+first, func() {
		if turn == m.turn {
			m.finish()
		}
	})
}

// finish ends the tasks that have nothing left.
func (m *machine) finish() {
	m.advance()
	var ended []*task
	m.running = slices.DeleteFunc(m.running, func(t *task) bool {
		if t.left > tiny {
			return false
		}
		ended = append(ended, t)
		return true
	})
	m.plan()
	for _, t := range ended {
		t.done()
	}
}

// lane is a row of threads of one process. It runs tasks by priority, and tasks of one priority in
// the order in which they came.
type lane struct {
	*machine
	width int // threads
	used  int
	queue tasks
	count uint64
}

// queued is a task that waits for a thread.
type queued struct {
	*task
	priority int
	order    uint64
}

// push adds a task. A task of more threads than the lane has takes all.
func (l *lane) push(priority int, t *task) {
	t.threads = max(1, min(t.threads, l.width))
	l.count++
	heap.Push(&l.queue, queued{t, priority, l.count})
	l.next()
}

// next starts tasks as long as there are threads.
func (l *lane) next() {
	for len(l.queue) > 0 && l.used+l.queue[0].threads <= l.width {
		t := heap.Pop(&l.queue).(queued).task
		l.used += t.threads
		done := t.done
		t.done = func() {
			l.used -= t.threads
			done()
			l.next()
		}
		l.start(t)
	}
}

// tasks is a heap: the most urgent task comes first.
type tasks []queued

func (q tasks) Len() int { return len(q) }
func (q tasks) Less(i, j int) bool {
	return q[i].priority > q[j].priority ||
		q[i].priority == q[j].priority && q[i].order < q[j].order
}
func (q tasks) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *tasks) Push(x any)   { *q = append(*q, x.(queued)) }

func (q *tasks) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = queued{}
	*q = old[:len(old)-1]
	return last
}

// port is the network adapter of a machine. Each direction carries one message after the other.
type port struct{ out, in float64 } // instants at which the directions are free

// carry returns the instant at which a message of some bytes has arrived at another machine. It
// begins to arrive when it has begun to leave: machines do not wait for the end of a message before
// they pass it on.
func (l *Link) carry(now float64, from, to *port, bytes float64) float64 {
	if l.Bandwidth == 0 {
		return now + l.Latency
	}
	took := bytes / l.Bandwidth
	begun := max(now, from.out)
	from.out = begun + took
	to.in = max(to.in, begun+l.Latency) + took
	return max(to.in, from.out+l.Latency)
}
