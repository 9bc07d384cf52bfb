package module

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"

	"gomx/checkpoint"
	sym "gomx/symbol"
	"gomx/training"
)

// save writes the checkpoint of an epoch, if it is due, and removes old ones.
func (f *fitting) save(ctx context.Context, epoch int) error {
	c := &f.config.checkpoint
	number := epoch + 1
	kept := training.Checkpoints{Prefix: c.prefix, Keep: c.keep, Every: c.every}
	if !f.elastic.first(f.share.rank) || !kept.Due(number, f.config.epochs) {
		return nil
	}
	if p := f.m.pipe; p != nil {
		if err := p.save(ctx, f.m, c.prefix, number); err != nil || p.number > 0 {
			return err
		}
		return f.removeOld(&kept, number)
	}
	if err := os.MkdirAll(filepath.Dir(c.prefix), 0o777); err != nil {
		return fmt.Errorf("module: checkpoint: %w", err)
	}
	if f.share.rank > 0 && f.saved == nil { // worker 0 has saved until now
		var err error
		if f.saved, err = checkpoint.Epochs(c.prefix); err != nil {
			return prefixed(err)
		}
	}
	if err := f.m.Save(c.prefix, number); err != nil {
		return err
	}
	if c.states {
		if err := f.m.SaveStates(checkpoint.StatesPath(c.prefix, number)); err != nil {
			return err
		}
	}
	return f.removeOld(&kept, number)
}

// removeOld notes a checkpoint that has been saved, and removes those that are not to be kept.
func (f *fitting) removeOld(kept *training.Checkpoints, number int) (err error) {
	f.saved, err = kept.Saved(f.saved, number, func(n int) []string {
		return []string{checkpoint.ParamsPath(kept.Prefix, n),
			checkpoint.StatesPath(kept.Prefix, n)}
	})
	return prefixed(err)
}

// findSaved finds the checkpoints of the process that this one takes the place of, for KeepLast.
func (f *fitting) findSaved() (err error) {
	if f.share.rank == 0 && f.share.joined > 0 && f.config.checkpoint.prefix != "" {
		f.saved, err = checkpoint.Epochs(f.config.checkpoint.prefix)
	}
	return err
}

// removeTemporary removes the files that a process which was killed has not completed.
func (f *fitting) removeTemporary() error {
	if f.share.rank > 0 {
		return nil
	}
	for _, prefix := range []string{f.config.checkpoint.prefix, f.config.resume.prefix} {
		if prefix == "" {
			continue
		}
		if err := checkpoint.RemoveTemporary(prefix); err != nil {
			return fmt.Errorf("module: %w", err)
		}
	}
	return nil
}

// SaveStates writes the optimizer's states to a file that MXNet's Module loads. It waits for them.
func (m *Module) SaveStates(path string) error {
	if err := m.usable("SaveStates"); err != nil {
		return err
	}
	return prefixed(m.trainer.SaveStates(path))
}

// LoadStates reads the optimizer's states from a file that SaveStates or MXNet's Module wrote.
func (m *Module) LoadStates(path string) error {
	if err := m.usable("LoadStates"); err != nil {
		return err
	}
	if m.trainer.Updater() == nil {
		return errors.New("module: LoadStates: call InitOptimizer first")
	}
	return prefixed(m.trainer.LoadStates(path))
}

// LoadBucketing returns a module for a checkpoint of a BucketingModule, written here or by MXNet,
// with its parameters. Buckets that have been saved get the networks of the checkpoint, others
// those that gen makes. Without gen only the saved ones can be used.
func LoadBucketing(prefix string, epoch int, gen SymGen, defaultBucket any,
	opts ...Option) (*BucketingModule, error) {
	saved, err := checkpoint.LoadBuckets(prefix)
	if err != nil && !(errors.Is(err, fs.ErrNotExist) && gen != nil) {
		return nil, err
	}
	m, err := newBucketing(&buckets{gen: gen, key: defaultBucket, saved: saved}, opts)
	if err != nil {
		return nil, err
	}
	args, aux, err := checkpoint.LoadParams(checkpoint.ParamsPath(prefix, epoch),
		m.net.symbol.AuxStates())
	if err != nil {
		return nil, err
	}
	return m, m.SetParams(args, aux)
}

// save writes the networks of all buckets that have been used, here or before the checkpoint that
// was loaded. MXNet's format has integers for buckets; where they are something else, only the
// default's network is saved.
func (b *buckets) save(prefix string) error {
	networks := map[int]*sym.Symbol{}
	maps.Copy(networks, b.kept)
	maps.Copy(networks, b.saved)
	for key, bk := range b.known {
		k, ok := integer(key)
		if !ok {
			return nil
		}
		networks[k] = bk.symbol
	}
	if err := checkpoint.SaveBuckets(prefix, networks); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	return nil
}

// integer returns a bucket that is an integer of any type.
func integer(key any) (int, bool) {
	switch v := reflect.ValueOf(key); {
	case v.CanInt():
		return int(v.Int()), true
	case v.CanUint():
		return int(v.Uint()), true
	}
	return 0, false
}
