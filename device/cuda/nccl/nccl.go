//go:build cuda

package nccl

/*
#cgo LDFLAGS: -ldl
#include "nccl.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/dtype"
)

// library is NCCL as it was opened.
type library struct {
	f       C.gcu_nccl
	version int // 10000 times the major, 100 times the minor number, and the patch
}

// theLibrary opens NCCL at the first use.
var theLibrary = sync.OnceValues(func() (*library, error) {
	lib, err := cuda.OpenLibrary("NCCL, which adds up arrays of several GPUs,",
		[]string{"libnccl.so.2"})
	if err != nil {
		return nil, err
	}
	l := &library{}
	var missing *C.char
	if C.gcu_nccl_load(lib, &l.f, &missing) != 0 {
		return nil, fmt.Errorf("nccl: the library has no function %s", C.GoString(missing))
	}
	var v C.int
	if code := C.gcu_nccl_version(&l.f, &v); code != 0 {
		return nil, l.fail("ncclGetVersion", code)
	}
	l.version = int(v)
	if l.version < 10000 { // before 2.9 the major number counted 1000
		l.version = l.version/1000*10000 + l.version%1000
	}
	return l, nil
})

// fail returns the error for a code of the library.
func (l *library) fail(call string, code C.int) error {
	text := C.GoString(C.gcu_nccl_text(&l.f, code))
	if last := C.GoString(C.gcu_nccl_last(&l.f)); last != "" {
		text += ": " + last
	}
	return fmt.Errorf("nccl: %s: error %d: %s", call, int(code), text)
}

// Version returns the version of NCCL, such as 2.23.4, or the reason why it is not used.
func Version() (string, error) {
	l, err := theLibrary()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d.%d.%d", l.version/10000, l.version/100%100, l.version%100), nil
}

// refused says that the program has called Allow(false).
var refused atomic.Bool

// Allow says whether NCCL may be used where it exists, which is the default. Without it arrays of
// several GPUs are added up by copies between two GPUs at a time, always in the same order.
func Allow(on bool) { refused.Store(!on) }

func init() { device.RegisterJoiner(device.KindCUDA, joiner{}) }

// joiner is the device.Joiner of GPUs.
type joiner struct{}

// state has the communicators and streams in use.
var state = struct {
	mu     sync.Mutex // held while an operation is put on the streams
	teams  map[string]*team
	queues map[int]*cuda.Queue // by number of the device
}{teams: map[string]*team{}, queues: map[int]*cuda.Queue{}}

// team is a list of devices that work together.
type team struct {
	comms  []unsafe.Pointer
	queues []*cuda.Queue
	err    error // why it could not be made
}

// types maps element types to NCCL's.
var types = map[dtype.Type]C.int{dtype.Int8: 0, dtype.Uint8: 1, dtype.Int32: 2, dtype.Uint32: 3,
	dtype.Int64: 4, dtype.Uint64: 5, dtype.Float16: 6, dtype.Float32: 7, dtype.Float64: 8,
	dtype.BFloat16: 9}

// withBFloat16 is the first version that adds bfloat16.
const withBFloat16 = 21000

// Joins implements device.Joiner.
func (joiner) Joins(ids []int, t dtype.Type) (bool, error) {
	if len(ids) < 2 || refused.Load() {
		return false, nil
	}
	l, err := theLibrary()
	if err != nil {
		return false, nil
	}
	if _, ok := types[t]; !ok || t == dtype.BFloat16 && l.version < withBFloat16 {
		return false, nil
	}
	state.mu.Lock()
	defer state.mu.Unlock()
	m := l.teamOf(ids)
	return m.err == nil, m.err
}

// teamOf returns the team of a list of devices, and makes it at the first call. The caller holds
// state.mu.
func (l *library) teamOf(ids []int) *team {
	key := fmt.Sprint(ids)
	m := state.teams[key]
	if m == nil {
		m = &team{}
		m.err = l.open(m, ids)
		state.teams[key] = m
	}
	return m
}

// open makes the communicators and streams of a team. The caller holds state.mu.
func (l *library) open(m *team, ids []int) error {
	if err := cuda.OpenPeers(ids); err != nil {
		return err
	}
	numbers := make([]C.int, len(ids))
	for i, id := range ids {
		numbers[i] = C.int(id)
		q := state.queues[id]
		if q == nil {
			var err error
			if q, err = cuda.OpenQueue(id); err != nil {
				return err
			}
			state.queues[id] = q
		}
		m.queues = append(m.queues, q)
	}
	m.comms = make([]unsafe.Pointer, len(ids))
	if code := C.gcu_nccl_open(&l.f, C.int(len(ids)), &numbers[0], &m.comms[0]); code != 0 {
		return l.fail(fmt.Sprintf("ncclCommInitAll for devices %v", ids), code)
	}
	return nil
}

// Join implements device.Joiner.
func (joiner) Join(q device.Queue, j *device.Joint) error {
	l, err := theLibrary()
	if err != nil {
		return err
	}
	ids := make([]int, len(j.Parts))
	for i, p := range j.Parts {
		ids[i] = p.ID
	}
	state.mu.Lock()
	defer state.mu.Unlock()
	m := l.teamOf(ids)
	if m.err != nil {
		return m.err
	}
	if err := follow(q, m.queues...); err != nil {
		return err
	}
	failed := l.join(m, j, ids)
	for _, s := range m.queues { // also after a failure: some devices may have begun
		if err := follow(s, q); err != nil {
			return err
		}
	}
	return failed
}

// follow makes queues wait for the work that is on q.
func follow[W device.Queue](q device.Queue, waiting ...W) error {
	mark, err := q.Mark()
	if err != nil {
		return err
	}
	for _, w := range waiting {
		if err = w.Wait(mark); err != nil {
			break
		}
	}
	q.Notify(mark, func(error) {}) // the event is used again
	return err
}

// join puts an operation on the streams of a team.
func (l *library) join(m *team, j *device.Joint, ids []int) error {
	parts := make([]C.gcu_nccl_part, len(j.Parts))
	for i, p := range j.Parts {
		parts[i] = C.gcu_nccl_part{from: p.From, to: p.To, comm: m.comms[i],
			stream: m.queues[i].Stream()}
		m.queues[i].Called("nccl")
	}
	c := C.gcu_nccl_joint{kind: C.int(j.Kind), _type: types[j.Type], root: C.int(j.Root),
		devices: C.int(len(parts)), elements: C.size_t(j.Elements)}
	var call *C.char
	code := C.gcu_nccl_join(&l.f, &c, &parts[0], &call)
	if code != 0 {
		return l.fail(fmt.Sprintf("%s of %d %v for devices %v", C.GoString(call), j.Elements, j.Type,
			ids), code)
	}
	return nil
}
