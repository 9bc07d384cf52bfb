package server

import "testing"

// TestMemoryIsCounted takes buffers out of a pool and closes it: memory goes back when nothing
// refers to it, and is counted until then.
func TestMemoryIsCounted(t *testing.T) {
	freed := 0
	mem := &memory{alloc: func(n int) []byte { return make([]byte, n) },
		freed: func(b []byte) { freed += len(b) }}
	p := &pool{mem: mem, head: 64, size: 16}
	a, b := p.get(), p.get()
	if mem.used != 160 || len(a.data()) != 16 || len(a.entry(1)) != 80 {
		t.Fatalf("%d bytes in use, want 160; data of %d bytes, entry of %d", mem.used,
			len(a.data()), len(a.entry(1)))
	}
	a.hold()
	a.release()
	b.release()
	if c := p.get(); c != b || c.refs != 1 || mem.used != 160 {
		t.Error("a buffer that came back is not used again")
	}
	b.release()
	p.close()
	if mem.used != 80 || freed != 80 {
		t.Errorf("%d bytes in use, %d given back, want 80 and 80: one buffer is referred to",
			mem.used, freed)
	}
	a.release()
	if mem.used != 0 || freed != 160 {
		t.Errorf("%d bytes in use, %d given back, want 0 and 160", mem.used, freed)
	}
	(*buffer)(nil).release()
	plain := &memory{}
	plain.put(plain.get(8))
	if plain.used != 0 {
		t.Errorf("%d bytes of the Go heap in use", plain.used)
	}
}
