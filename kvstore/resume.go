package kvstore

import (
	"errors"
	"fmt"
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
		err := scanSnapshot(dir, func([]byte) error { return nil })
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

// scanSnapshot reads the parts of a snapshot one after the other, in the order of shards, verifies
// them and passes them on.
func scanSnapshot(dir string, take func(part []byte) error) error {
	m, err := readManifest(dir)
	if err != nil {
		return err
	}
	for shard := range m.Files {
		part, err := readPart(dir, m, shard)
		if err != nil {
			return err
		}
		if err := take(part); err != nil {
			return fmt.Errorf("kvstore: snapshot %s: %s: %w", dir, m.Files[shard].Name, err)
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

// readPart reads a shard's part of a snapshot and verifies it.
func readPart(dir string, m *wire.Manifest, shard int) ([]byte, error) {
	f := &m.Files[shard]
	if f.Shard != uint32(shard) || filepath.Base(f.Name) != f.Name {
		return nil, fmt.Errorf("kvstore: snapshot %s: the manifest names %q for shard %d", dir,
			f.Name, f.Shard)
	}
	part, err := os.ReadFile(filepath.Join(dir, f.Name))
	if err != nil {
		return nil, fmt.Errorf("kvstore: snapshot: %w", err)
	}
	if sum := server.SnapshotChecksum(part); uint64(len(part)) != f.Size || sum != f.Checksum {
		return nil, fmt.Errorf("kvstore: snapshot %s: %s has %d bytes with checksum %#x, the "+
			"manifest says %d with %#x",
			dir, f.Name, len(part), sum, f.Size, f.Checksum)
	}
	if id, clock, err := server.CheckSnapshot(part); err != nil || id != f.Shard ||
		clock != m.Clock {
		return nil, fmt.Errorf("kvstore: snapshot %s: %s is of shard %d at %d, want shard %d at "+
			"%d (%w)", dir, f.Name, id, clock, f.Shard, m.Clock, err)
	}
	return part, nil
}

// CheckRestore verifies that the job can continue from the snapshot that Restore names, if it names
// one: the snapshot is whole. Another number of workers or servers may have written it.
func (c *JobConfig) CheckRestore() error {
	if c.Restore == "" {
		return nil
	}
	return scanSnapshot(c.Restore, func(part []byte) error {
		_, err := server.SnapshotWorkers(part)
		return err
	})
}

// restorer returns the function that a server asks for a shard's part of the snapshot from which
// the job continues; fail is told when it cannot be read. A snapshot that is there is verified at
// once. One that is not may have been removed since, because the job has newer ones: a server that
// is started again gets copies from others, and never asks.
func (c *JobConfig) restorer(fail func(error)) (func(shard uint32) []byte, error) {
	if c.Restore == "" {
		return nil, nil
	}
	if complete(c.Restore) {
		if err := c.CheckRestore(); err != nil {
			return nil, err
		}
	}
	return func(shard uint32) []byte {
		m, err := readManifest(c.Restore)
		if err == nil && int(shard) >= len(m.Files) {
			err = fmt.Errorf("kvstore: snapshot %s has no shard %d", c.Restore, shard)
		}
		var part []byte
		if err == nil {
			part, err = readPart(c.Restore, m, int(shard))
		}
		if err != nil {
			fail(err)
			return nil
		}
		return part
	}, nil
}
