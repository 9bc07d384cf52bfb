package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"gomx/checkpoint"
	"gomx/internal/hostile"
)

// TestHostileRuns loads damaged files of runs, and files whose checksum is right again.
func TestHostileRuns(t *testing.T) {
	_, file := savedRun(t)
	k := hostile.Kind{Name: ".resume", Seeds: [][]byte{file}, Decode: func(b []byte) error {
		_, arrays, err := checkpoint.ReadRun(bytes.NewReader(b), int64(len(b)))
		for _, a := range arrays {
			a.Close()
		}
		return err
	}}
	k.Run(t)
	k.Name, k.Seal = "sealed .resume", func(b []byte) {
		if end := len(b) - 4; end >= 0 {
			binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], crc32.MakeTable(crc32.Castagnoli)))
		}
	}
	k.Run(t)
}
