package checkpoint

import (
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"

	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// BucketsPath returns the name of the file that lists the buckets of a checkpoint: prefix.buckets.
func BucketsPath(prefix string) string { return prefix + ".buckets" }

// BucketSymbolPath returns the name of the file with one bucket's network: prefix-10-symbol.json.
func BucketSymbolPath(prefix string, bucket int) string {
	return fmt.Sprintf("%s-%d-symbol.json", prefix, bucket)
}

// SaveSymbol writes a network to a file; an error or a crash leaves the file unchanged.
func SaveSymbol(path string, s *sym.Symbol) error {
	text, err := s.JSON()
	if err != nil {
		return fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	return WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// LoadSymbol reads a network from a file of any MXNet since 0.8.
func LoadSymbol(path string) (*sym.Symbol, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	s, err := sym.Load(text)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	return s, nil
}

// SaveBuckets writes the networks of buckets as MXNet's BucketingModule does: a file for each, and
// then the list of them, so that the list only names files that exist.
func SaveBuckets(prefix string, networks map[int]*sym.Symbol) error {
	keys := slices.Sorted(maps.Keys(networks))
	list := make([]int32, len(keys))
	for i, k := range keys {
		if k < math.MinInt32 || k > math.MaxInt32 {
			return fmt.Errorf("checkpoint: %s: bucket key %d, want a number of 32 bits", prefix, k)
		}
		list[i] = int32(k)
		if err := SaveSymbol(BucketSymbolPath(prefix, k), networks[k]); err != nil {
			return err
		}
	}
	a := nd.FromSlice(list)
	defer a.Close()
	return SaveArrays(BucketsPath(prefix), []Named{{Array: a}})
}

// LoadBuckets reads the files of SaveBuckets or of MXNet's BucketingModule.
func LoadBuckets(prefix string) (map[int]*sym.Symbol, error) {
	path := BucketsPath(prefix)
	arrays, err := LoadArrays(path, DenseLimit(0))
	if err != nil {
		return nil, err
	}
	if len(arrays) != 1 || arrays[0].Array == nil || len(arrays[0].Array.Shape()) != 1 {
		return nil, fmt.Errorf("checkpoint: %s: %d arrays, want one array of one axis that "+
			"lists the buckets", path, len(arrays))
	}
	a := arrays[0].Array
	defer a.Close()
	keys, err := nd.Values[int32](a)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	networks := map[int]*sym.Symbol{}
	for _, k := range keys {
		if networks[int(k)], err = LoadSymbol(BucketSymbolPath(prefix, int(k))); err != nil {
			return nil, err
		}
	}
	return networks, nil
}
