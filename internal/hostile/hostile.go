package hostile

import (
	"flag"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"gomx/device"
)

var (
	mutations = flag.Int("hostile.n", 300, "mutations of each kind of file")
	seed      = flag.Uint64("hostile.seed", 1, "seed of the mutations")
)

const (
	// Allowance is the number of bytes that a decoder may allocate for any file.
	Allowance = 64 << 20
	// PerByte is the number of additional bytes that it may allocate for each byte of the file.
	PerByte = 4
	// TimeLimit is the longest processor time for decoding one file. Run measures elapsed time, so
	// it measures a second time before it reports a file as slow.
	TimeLimit = time.Second
)

// Kind is a kind of file.
type Kind struct {
	Name  string
	Seeds [][]byte // files that Decode accepts
	// Text is set if numbers in the files are decimal digits; otherwise they are words of 1, 2, 4
	// and 8 bytes.
	Text bool
	// Decode decodes a file and frees the results. Run ignores the error.
	Decode func(file []byte) error
	// Seal recomputes the checksums of a mutated file; nil for files without checksums.
	Seal func(file []byte)
	// Extra is the number of bytes that the decoder may allocate in addition, by a documented
	// limit.
	Extra int64
}

// Run decodes mutations of k's files.
func (k Kind) Run(t *testing.T) {
	t.Helper()
	for i, file := range k.Seeds {
		if err := k.Decode(file); err != nil {
			t.Fatalf("%s: file %d of %d is not accepted as it is: %v", k.Name, i, len(k.Seeds), err)
		}
	}
	t.Logf("%s: %d mutations of %d files, seed %d", k.Name, *mutations, len(k.Seeds), *seed)
	m := newMutator(k, *seed)
	accepted, faults := 0, 0
	for n := range *mutations {
		file, story := m.next(n)
		fault, err := k.try(file)
		if fault != "" {
			t.Errorf("%s: mutation %d of seed %d, %s: %s", k.Name, n, *seed, story, fault)
			if faults++; faults == 10 {
				t.Fatalf("%s: more mutations are not tried", k.Name)
			}
		}
		if err == nil {
			accepted++
		}
	}
	t.Logf("%s: %d mutations accepted", k.Name, accepted)
}

// try decodes one file and describes the fault of the decoder, if there is one.
func (k Kind) try(file []byte) (fault string, err error) {
	defer func() {
		if p := recover(); p != nil {
			fault = fmt.Sprintf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	limit := Allowance + PerByte*int64(len(file)) + k.Extra
	for range 2 {
		before, start := allocated(), time.Now()
		err = k.Decode(file)
		took, used := time.Since(start), allocated()-before
		if used > limit {
			return fmt.Sprintf("%d bytes allocated for a file of %d, want at most %d (error: %v)",
				used, len(file), limit, err), err
		}
		if took <= TimeLimit {
			return "", err
		}
		fault = fmt.Sprintf("took %v, want at most %v (error: %v)", took, TimeLimit, err)
	}
	return fault, err
}

// allocated returns the sum of all bytes that were allocated on the Go heap so far and the bytes
// that the processor's pool has reserved. Neither decreases during a test.
func allocated() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64()) + device.Usage(device.CPU()).Reserved
}
