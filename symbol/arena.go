package symbol

import (
	"runtime"
	"sync"
	"sync/atomic"

	"gomx/device"
	"gomx/engine"
)

// arena is the planned memory of one or more executors, which use it one run after the other.
type arena struct {
	dev   device.Device
	token *engine.Var // overwritten when a run begins, read by its segments

	mu    sync.Mutex
	users int // executors that are not closed
	block *arenaBlock
	last  *run // the run that began last: what it keeps for its backward part is still there
}

// arenaBlock is freed when the arena and the last run on it have let go, or when the collector
// finds it forgotten.
type arenaBlock struct {
	device.Block
	refs    atomic.Int32
	cleanup runtime.Cleanup
}

func (b *arenaBlock) release() {
	if b != nil && b.refs.Add(-1) == 0 {
		b.cleanup.Stop()
		b.Free()
	}
}

// reserve makes the arena at least bytes large, keeping what it has if that is enough. Runs that
// are under way keep the old block until they are done. The caller holds mu.
func (a *arena) reserve(bytes int) error {
	if a.block != nil && bytes <= a.block.Bytes {
		return nil
	}
	b, err := device.Alloc(a.dev, bytes, device.PurposeArena)
	if err != nil {
		return err
	}
	a.block.release()
	a.block = &arenaBlock{Block: b}
	a.block.refs.Store(1)
	a.block.cleanup = runtime.AddCleanup(a.block, device.Block.Free, b)
	return nil
}

// join gives ex its arena: that of another executor, or a new one.
func (ex *Executor) join(other *Executor) {
	if other != nil {
		ex.arena = other.arena
	} else {
		ex.arena = &arena{dev: ex.config.Device, token: ex.engine().NewVar("arena")}
	}
	ex.arena.mu.Lock()
	defer ex.arena.mu.Unlock()
	ex.arena.users++
}

// leave tells that one executor is closed; the last one gives the memory back.
func (a *arena) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.users--; a.users == 0 {
		a.block.release()
		a.block = nil
	}
}
