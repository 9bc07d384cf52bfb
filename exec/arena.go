package exec

import (
	"runtime"
	"sync"
	"sync/atomic"

	"gomx/compile"
	"gomx/device"
	"gomx/engine"
)

// arena is the planned memory of one or more executors, which use it one run after the other. It
// has a block on every device that one of them uses.
type arena struct {
	token *engine.Var // overwritten when a run begins, read by its segments
	forms *forms      // of parameters, which programs of all its executors share

	mu     sync.Mutex
	users  int // executors that are not closed
	blocks map[device.Device]*arenaBlock
	last   *run // the run that began last; no other run has overwritten its values
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

// reserve returns the arena's block on the device of r. It replaces a block that is smaller than r;
// runs that are under way keep the old block until they are done. The caller holds mu.
func (a *arena) reserve(r compile.Room) (*arenaBlock, error) {
	old := a.blocks[r.Device]
	if old != nil && r.Bytes <= int64(old.Bytes) {
		return old, nil
	}
	b, err := device.Alloc(r.Device, int(r.Bytes), device.PurposeArena)
	if err != nil {
		return nil, err
	}
	old.release()
	block := &arenaBlock{Block: b}
	a.blocks[r.Device] = block
	block.refs.Store(1)
	block.cleanup = runtime.AddCleanup(block, device.Block.Free, b)
	return block, nil
}

// join gives ex the arena of another executor, or a new one if other is nil.
func (ex *Executor) join(other *Executor) {
	if other != nil {
		ex.arena = other.arena
	} else {
		ex.arena = &arena{token: ex.eng.NewVar("arena"), blocks: map[device.Device]*arenaBlock{},
			forms: &forms{list: map[string][]*form{}}}
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
		for _, b := range a.blocks {
			b.release()
		}
		clear(a.blocks)
	}
}
