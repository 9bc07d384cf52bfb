package kvstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/view"
	"gomx/kvstore/wire"
)

// A snapshot of a job is a folder "snapshot-NUMBER" with one file for each shard and a manifest
// that lists them with their checksums. The manifest is written last: a folder without one is no
// snapshot.

// Snapshot implements Snapshotter.
func (s *dist) Snapshot(ctx context.Context, number uint64) error {
	if number == 0 {
		return fmt.Errorf("kvstore: snapshot 0: numbers begin with 1")
	}
	if err := s.drain(ctx); err != nil {
		return err
	}
	_, err := s.job.wait(ctx, s.cfg.timeout, func(now, deadline ps.Time) (uint64, error) {
		return s.job.worker.SnapshotAll(now, number, deadline)
	})
	return err
}

const (
	snapshotPrefix = "snapshot-"
	manifestName   = "manifest"
	keepSnapshots  = 2
)

// SnapshotFolder returns the folder of a snapshot in a job's folder for snapshots. Workers may put
// files of their own into it before they call Snapshot: they are removed with the snapshot. Package
// module uses the names worker-RANK.
func SnapshotFolder(root string, number uint64) string { return snapshotDir(root, number) }

// snapshotDir returns the folder of a snapshot.
func snapshotDir(root string, number uint64) string {
	return filepath.Join(root, snapshotPrefix+strconv.FormatUint(number, 10))
}

// errNoFolder explains why there are no snapshots.
var errNoFolder = errors.New("the job has no folder for snapshots")

// saveParts writes a server's parts of snapshots, each on a goroutine that the driver waits for: a
// disk may be slow, and the shards must not wait for it.
func (d *driver) saveParts(s *server.Server, root string) func(*ps.Outbox) {
	return func(out *ps.Outbox) {
		for _, save := range out.Saves {
			name := fmt.Sprintf("shard-%d-%d-%d-%d-%d", save.Shard, d.self.Rank, s.Incarnation(),
				save.Epoch, save.Try)
			d.done.Go(func() {
				err := errNoFolder
				if root != "" {
					err = writePart(snapshotDir(root, save.Clock), name, func(w io.Writer) error {
						return d.writeSave(w, &save)
					})
				}
				d.do(func() {
					if err != nil {
						d.log.Error().Err(err).Uint32("shard",
							save.Shard).Msg("part of a snapshot is not written")
						s.SaveFailed(&save)
						return
					}
					s.Saved(&save, name)
				}, nil)
			})
		}
	}
}

// writeSave writes the bytes of a part. The lock of the driver is held while the machine makes a
// piece, and not while the piece is written.
func (d *driver) writeSave(w io.Writer, save *ps.Save) error {
	piece, err := save.Data, error(nil)
	for err == nil && len(piece) > 0 {
		if _, err = w.Write(piece); err != nil {
			return err
		}
		d.do(func() { piece, err = save.Rest() }, func() { err = errClosed })
	}
	return err
}

func writePart(dir, name string, write func(w io.Writer) error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return view.WriteDurablyBy(filepath.Join(dir, name), write)
}

// manifestTries is how often a manifest is tried, a second apart, before its snapshot has failed.
const manifestTries = 3

// manifestFile returns the name of the manifests that this scheduler writes. The name has the term
// of a lead that may end while the scheduler stands still: so that scheduler cannot replace the
// manifest of its successor when it wakes up.
func (r *records) manifestFile() string {
	if r.lead == nil || r.lead.Lost() == nil {
		return manifestName
	}
	return fmt.Sprintf("%s-%d", manifestName, r.lead.Term())
}

// manifestOf returns the path of a snapshot's manifest, empty if there is none. If several
// schedulers have written one, the manifest of the highest term counts.
func manifestOf(dir string) (path string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	best := uint64(0)
	for _, e := range list {
		text, found := strings.CutPrefix(e.Name(), manifestName+"-")
		term, err := strconv.ParseUint(text, 10, 64)
		switch {
		case e.Name() == manifestName && path == "":
			path = filepath.Join(dir, e.Name())
		case found && err == nil && term > best:
			path, best = filepath.Join(dir, e.Name()), term
		}
	}
	return path
}

// writeManifest completes a snapshot, and removes those that are too old.
func (r *records) writeManifest(m *wire.Manifest) error {
	if r.root == "" {
		return errNoFolder
	}
	for tries := 1; ; tries++ {
		err := writePart(snapshotDir(r.root, m.Clock), r.manifestFile(), func(w io.Writer) error {
			_, err := w.Write(m.Append(nil))
			return err
		})
		if err == nil {
			break
		}
		r.d.log.Error().Err(err).Uint64("snapshot", m.Clock).Int("tries",
			tries).Msg("manifest of a snapshot is not written")
		if tries == manifestTries {
			return fmt.Errorf("kvstore: manifest of snapshot %d: %w", m.Clock, err)
		}
		select {
		case <-r.d.stop:
			return err
		case <-time.After(writeAgain):
		}
	}
	if err := prune(r.root, m.Clock); err != nil {
		r.d.log.Error().Err(err).Msg("old snapshots are not removed")
	}
	return nil
}

// discard removes parts of snapshots that have failed, and their folders when nothing else is
// there.
func (r *records) discard(parts []ps.Part) {
	for _, p := range parts {
		dir := snapshotDir(r.root, p.Clock)
		if filepath.Base(p.Name) != p.Name {
			continue
		}
		if err := os.Remove(filepath.Join(dir, p.Name)); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			r.d.log.Error().Err(err).Msg("part of a failed snapshot is not removed")
		}
		_ = os.Remove(dir) // fails unless it is empty
	}
}

// complete reports whether a snapshot has a manifest.
func complete(dir string) bool { return manifestOf(dir) != "" }

// prune removes the snapshots up to a number that are not complete, and of those that are all but
// the latest.
func prune(root string, last uint64) error {
	numbers, err := snapshotNumbers(root)
	if err != nil {
		return err
	}
	kept := 0
	for _, n := range slices.Backward(numbers) {
		if n > last {
			continue
		}
		if complete(snapshotDir(root, n)) && kept < keepSnapshots {
			kept++
			continue
		}
		if err := os.RemoveAll(snapshotDir(root, n)); err != nil {
			return fmt.Errorf("kvstore: old snapshot: %w", err)
		}
	}
	return nil
}

// snapshotNumbers lists the snapshots of a folder in their order, complete or not.
func snapshotNumbers(root string) ([]uint64, error) {
	list, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("kvstore: snapshots: %w", err)
	}
	var numbers []uint64
	for _, e := range list {
		text, ok := strings.CutPrefix(e.Name(), snapshotPrefix)
		if n, err := strconv.ParseUint(text, 10, 64); ok && err == nil && e.IsDir() {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// LatestSnapshot returns the folder of the last snapshot in a folder of snapshots that is whole:
// all its files are there and their checksums are right. skipped names the faults of later, damaged
// ones. Snapshots that were never completed do not count. The folder is empty when
// there is no snapshot; when there are snapshots and none is whole, that is an error.
func LatestSnapshot(root string) (dir string, skipped []error, err error) {
	numbers, err := snapshotNumbers(root)
	if err != nil {
		return "", nil, err
	}
	for _, n := range slices.Backward(numbers) {
		dir := snapshotDir(root, n)
		if !complete(dir) {
			continue
		}
		err := checkSnapshot(dir)
		if err == nil {
			return dir, skipped, nil
		}
		skipped = append(skipped, err)
	}
	if len(skipped) > 0 {
		return "", nil, fmt.Errorf("kvstore: all snapshots in %s are damaged: %w", root,
			errors.Join(skipped...))
	}
	return "", nil, nil
}

// checkSnapshot reads the parts of a snapshot one after the other, in the order of shards, and
// verifies them.
func checkSnapshot(dir string) error {
	m, err := readManifest(dir)
	if err != nil {
		return err
	}
	for shard := range m.Files {
		if err := checkPart(dir, m, shard); err != nil {
			return err
		}
	}
	return nil
}

func readManifest(dir string) (*wire.Manifest, error) {
	path := manifestOf(dir)
	if path == "" {
		path = filepath.Join(dir, manifestName)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("kvstore: snapshot: %w", err)
	}
	m, err := wire.DecodeManifest(b)
	if err != nil {
		return nil, fmt.Errorf("kvstore: snapshot %s: %w", dir, err)
	}
	return m, nil
}

// partFile is an open part of a snapshot.
type partFile struct {
	*bufio.Reader
	io.Closer
}

// openPart opens a shard's part of a snapshot, whose size is as the manifest says.
func openPart(dir string, m *wire.Manifest, shard int) (*wire.Source, error) {
	f := &m.Files[shard]
	if f.Shard != uint32(shard) || filepath.Base(f.Name) != f.Name {
		return nil, fmt.Errorf("kvstore: snapshot %s: the manifest names %q for shard %d", dir,
			f.Name, f.Shard)
	}
	file, err := os.Open(filepath.Join(dir, f.Name))
	if err != nil {
		return nil, fmt.Errorf("kvstore: snapshot: %w", err)
	}
	st, err := file.Stat()
	if err == nil && uint64(st.Size()) != f.Size {
		err = fmt.Errorf("%s has %d bytes, the manifest says %d", f.Name, st.Size(), f.Size)
	}
	if err != nil {
		_ = file.Close() // the first error says more
		return nil, fmt.Errorf("kvstore: snapshot %s: %w", dir, err)
	}
	return wire.SourceFrom(partFile{bufio.NewReaderSize(file, 1<<16), file}, f.Size), nil
}

// checkPart reads a shard's part of a snapshot piece by piece and verifies it.
func checkPart(dir string, m *wire.Manifest, shard int) error {
	part, err := openPart(dir, m, shard)
	if err != nil {
		return err
	}
	f := &m.Files[shard]
	h, err := server.CheckSnapshot(part)
	if closeErr := part.Close(); err == nil {
		err = closeErr
	}
	if err == nil && (h.Checksum != f.Checksum || h.Shard != f.Shard || h.Clock != m.Clock) {
		err = fmt.Errorf("it is of shard %d at %d with checksum %#x, the manifest says shard %d at "+
			"%d with %#x", h.Shard, h.Clock, h.Checksum, f.Shard, m.Clock, f.Checksum)
	}
	if err != nil {
		return fmt.Errorf("kvstore: snapshot %s: %s: %w", dir, f.Name, err)
	}
	return nil
}

// CheckRestore verifies that the job can continue from the snapshot that Restore names, if it names
// one: the snapshot is whole. Another number of workers or servers may have written it.
func (c *JobConfig) CheckRestore() error {
	if c.Restore == "" {
		return nil
	}
	return checkSnapshot(c.Restore)
}

// restorer returns the function that a server asks for a shard's part of the snapshot from which
// the job continues; fail is told when it cannot be read. A snapshot that is there is verified at
// once. One that is not may have been removed since, because the job has newer ones: a server that
// is started again gets copies from others, and never asks.
func (c *JobConfig) restorer(fail func(error)) (func(shard uint32) *wire.Source, error) {
	if c.Restore == "" {
		return nil, nil
	}
	if complete(c.Restore) {
		if err := c.CheckRestore(); err != nil {
			return nil, err
		}
	}
	return func(shard uint32) *wire.Source {
		m, err := readManifest(c.Restore)
		if err == nil && int(shard) >= len(m.Files) {
			err = fmt.Errorf("kvstore: snapshot %s has no shard %d", c.Restore, shard)
		}
		var part *wire.Source
		if err == nil {
			part, err = openPart(c.Restore, m, int(shard))
		}
		if err != nil {
			fail(err)
			return nil
		}
		return part
	}, nil
}
