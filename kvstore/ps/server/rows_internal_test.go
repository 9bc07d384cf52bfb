package server

import "testing"

// TestEmptyStepsKeepLittleMemory wants a step that is used again to keep no more than 1 MiB.
func TestEmptyStepsKeepLittleMemory(t *testing.T) {
	s := step{seqs: []uint64{1}, bytes: make([]byte, 1<<20)}
	s.clear()
	if len(s.bytes) != 0 || cap(s.bytes) != 1<<20 {
		t.Errorf("a step of 1 MiB keeps %d bytes", cap(s.bytes))
	}
	s.bytes = make([]byte, 1<<20+1)
	s.clear()
	if s.bytes != nil || len(s.seqs) != 0 {
		t.Errorf("a larger step keeps %d bytes", cap(s.bytes))
	}
}
