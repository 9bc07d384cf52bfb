package nn

import (
	"sync"
	"time"

	"gomx/op"
)

// meetingTime is how long a device waits for the others.
const meetingTime = time.Minute

// syncForward and syncBackward are the places where the devices of a process share statistics and
// their gradients.
var syncForward, syncBackward meetings

// meetings lets operators of one key wait for each other. Its zero value is ready.
type meetings struct {
	mu   sync.Mutex
	open map[string]*meeting // by key: devices are missing
}

// meeting is one exchange of numbers.
type meeting struct {
	sum     []float64 // complete once done is closed
	arrived int
	done    chan struct{}
}

// average replaces v by the mean of the vectors that p.NDev callers with one key give. It waits for
// all of them.
func (m *meetings) average(p SyncBatchNormParams, v []float64) error {
	g, err := m.enter(p, v)
	if err != nil {
		return err
	}
	timer := time.NewTimer(meetingTime)
	defer timer.Stop()
	select {
	case <-g.done:
	case <-timer.C:
		if n := m.leave(p.Key, g); n > 0 {
			return op.Errorf("ndev", "%d of %d devices have come to %q within %v", n, p.NDev, p.Key,
				meetingTime)
		}
	}
	for i, sum := range g.sum {
		v[i] = sum / float64(p.NDev)
	}
	return nil
}

// enter adds v to the open meeting of a key.
func (m *meetings) enter(p SyncBatchNormParams, v []float64) (*meeting, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.open[p.Key]
	if g == nil {
		if m.open == nil {
			m.open = map[string]*meeting{}
		}
		g = &meeting{sum: make([]float64, len(v)), done: make(chan struct{})}
		m.open[p.Key] = g
	}
	if len(g.sum) != len(v) {
		return nil, op.Errorf("key", "%q has %d channels here and %d on another device", p.Key,
			len(v)/2, len(g.sum)/2)
	}
	for i, x := range v {
		g.sum[i] += x
	}
	if g.arrived++; g.arrived == p.NDev {
		delete(m.open, p.Key)
		close(g.done)
	}
	return g, nil
}

// leave closes a meeting that is still open and returns how many devices have come, 0 where it is
// complete.
func (m *meetings) leave(key string, g *meeting) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-g.done:
		return 0
	default:
	}
	if m.open[key] == g {
		delete(m.open, key)
	}
	return g.arrived
}
