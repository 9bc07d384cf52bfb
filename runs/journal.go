package runs

import (
	"fmt"
	"os"
	"sync"
	"time"
)

const (
	flushEvery = 100 * time.Millisecond
	// mostPending is the number of bytes that wait for a slow disk before recording waits too.
	mostPending = 8 << 20
)

// journal appends to a file behind its users: a goroutine writes their bytes ten times a second. It
// may be used by any number of goroutines. close ends the goroutine.
type journal struct {
	file *os.File
	stop chan struct{}
	done sync.WaitGroup

	writing sync.Mutex // held while bytes go to the file; taken before mu
	spare   []byte     // guarded by writing

	mu  sync.Mutex
	buf []byte // bytes that are not in the file
	err error  // the first error; afterwards bytes are dropped
}

// newJournal starts a journal that appends to a file, which it closes.
func newJournal(f *os.File) *journal {
	j := &journal{file: f, stop: make(chan struct{})}
	j.done.Go(func() {
		tick := time.NewTicker(flushEvery)
		defer tick.Stop()
		for {
			select {
			case <-j.stop:
				return
			case <-tick.C:
				_ = j.flush() // kept in err
			}
		}
	})
	return j
}

// begin locks the journal and returns the buffer to append to. commit takes it back.
func (j *journal) begin() []byte {
	j.mu.Lock()
	return j.buf
}

// commit puts back the buffer with what begin's caller has appended.
func (j *journal) commit(b []byte) {
	if j.err != nil {
		b = b[:0]
	}
	j.buf = b
	full := len(b) > mostPending
	j.mu.Unlock()
	if full {
		_ = j.flush() // kept in err
	}
}

// flush writes the pending bytes to the file and returns the first error of all writes.
func (j *journal) flush() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.mu.Lock()
	b := j.buf
	j.buf = j.spare[:0]
	j.mu.Unlock()
	var err error
	if len(b) > 0 {
		_, err = j.file.Write(b)
	}
	j.spare = b[:0]
	if cap(b) > mostPending {
		j.spare = nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil && j.err == nil {
		j.err = fmt.Errorf("runs: %w", err)
	}
	return j.err
}

// close writes the pending bytes, makes the file durable and closes it.
func (j *journal) close() error {
	close(j.stop)
	j.done.Wait()
	err := j.flush()
	if e := j.file.Sync(); err == nil && e != nil {
		err = fmt.Errorf("runs: %w", e)
	}
	if e := j.file.Close(); err == nil && e != nil {
		err = fmt.Errorf("runs: %w", e)
	}
	return err
}
