package kvstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gomx/kvstore/wire"
)

// viewFile keeps a scheduler's view in a file: the encoded view, then its CRC-32C. A view is on disk
// whole, or the one before is.
type viewFile struct{ path string }

// load returns the view, nil when there is none yet.
func (f viewFile) load() (*wire.View, error) {
	b, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("kvstore: view of the scheduler: %w", err)
	}
	if len(b) < 4 || binary.LittleEndian.Uint32(b[len(b)-4:]) != wire.Checksum(b[:len(b)-4]) {
		return nil, fmt.Errorf("kvstore: view of the scheduler in %s: checksum is wrong", f.path)
	}
	v, err := wire.DecodeView(b[:len(b)-4])
	if err != nil {
		return nil, fmt.Errorf("kvstore: view of the scheduler in %s: %w", f.path, err)
	}
	return v, nil
}

// save makes a view durable.
func (f viewFile) save(v *wire.View) error {
	b := v.Append(nil)
	b = binary.LittleEndian.AppendUint32(b, wire.Checksum(b))
	if err := writeDurably(f.path, b); err != nil {
		return fmt.Errorf("kvstore: view of the scheduler: %w", err)
	}
	return nil
}

// writeDurably replaces a file, so that a crash leaves the old content or the new.
func writeDurably(path string, b []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails once it has been renamed
	_, err = tmp.Write(b)
	if err == nil {
		err = tmp.Sync()
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
