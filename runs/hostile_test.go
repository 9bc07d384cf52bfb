package runs_test

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"gomx/internal/hostile"
	"gomx/runs"
)

// seed returns the file of a run with everything in it.
func seed(tb testing.TB) []byte {
	dir := tb.TempDir()
	write(tb, dir)
	file, err := os.ReadFile(filepath.Join(dir, runs.FileName(0)))
	if err != nil {
		tb.Fatal(err)
	}
	return file
}

// decode reads a file as the board does.
func decode(tb testing.TB, file []byte) error {
	dir := tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, runs.FileName(0)), file, 0o666); err != nil {
		tb.Fatal(err)
	}
	defer os.RemoveAll(dir)
	d, err := runs.Load(dir)
	_ = d.Close()
	return err
}

// seal makes the checksums of all records right that have a whole body.
func seal(file []byte) {
	for at := 12; at+8 < len(file); {
		n := int(binary.LittleEndian.Uint32(file[at:]))
		if n <= 0 || n > len(file)-at-8 {
			return
		}
		binary.LittleEndian.PutUint32(file[at+4:], crc32.Checksum(file[at+8:at+8+n],
			crc32.MakeTable(crc32.Castagnoli)))
		at += 8 + n
	}
}

func TestHostile(t *testing.T) {
	hostile.Kind{Name: "run", Seeds: [][]byte{seed(t)},
		Decode: func(file []byte) error { return decode(t, file) }, Seal: seal}.Run(t)
}

func FuzzLoad(f *testing.F) {
	f.Add(seed(f))
	f.Fuzz(func(t *testing.T, file []byte) {
		seal(file)
		_ = decode(t, file) // an error is fine
	})
}
