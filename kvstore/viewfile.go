package kvstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/sched"
	"gomx/kvstore/wire"
)

// viewFile keeps a scheduler's view in a file: the encoded view, then its CRC-32C. A view is on
// disk whole, or the one before is.
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

// records makes views of a scheduler durable, on goroutines of their own: a disk may be slow, or
// full for a while, and neither heartbeats nor pages wait for it. A write of a view is repeated
// until it succeeds; no process hears of the view before.
type records struct {
	d    *driver
	s    *sched.Scheduler
	file *viewFile // nil: views are not kept
	root string    // of snapshots; empty: there are none
}

// writeAgain is the pause after a view could not be written.
const writeAgain = time.Second

// write begins to write. The driver's lock is held.
func (r *records) write(out *ps.Outbox) {
	if v := out.View; v != nil {
		r.d.done.Go(func() { r.writeView(v) })
	}
	if m := out.Manifest; m != nil {
		r.d.done.Go(func() {
			err := r.writeManifest(m)
			r.d.do(func() { r.s.Recorded(r.d.now(), m.Clock, err) }, nil)
		})
	}
	if len(out.Discard) > 0 && r.root != "" {
		parts := slices.Clone(out.Discard)
		r.d.done.Go(func() { r.discard(parts) })
	}
}

// writeView writes a view, however often that takes, and tells the scheduler.
func (r *records) writeView(v *wire.View) {
	for tries := 1; r.file != nil; tries++ {
		err := r.file.save(v)
		if err == nil {
			if tries > 1 {
				r.d.log.Info().Int("tries", tries).Uint64("view",
					v.Number).Msg("view of the scheduler is written at last")
			}
			break
		}
		r.d.log.Error().Err(err).Int("tries", tries).Uint64("view",
			v.Number).Msg("view of the scheduler is not written, trying again: members of the " +
			"job cannot change")
		select {
		case <-r.d.stop:
			return
		case <-time.After(writeAgain):
		}
	}
	r.d.do(func() { r.s.Persisted(r.d.now(), v.Number) }, nil)
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
