package module

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"

	"gomx/checkpoint"
	sym "gomx/symbol"
)

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
		m.symbol.AuxStates())
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
