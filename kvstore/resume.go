package kvstore

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"gomx/kvstore/ps/server"
	"gomx/kvstore/wire"
)

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
