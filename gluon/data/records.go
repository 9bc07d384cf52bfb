package data

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"

	dataio "gomx/io"
)

// RecordFile returns the records of a RecordIO file in the order of its index, which is the file of
// the same name that ends in .idx. Close closes the file.
//
// MXNet: gluon.data.RecordFileDataset.
func RecordFile(path string) Dataset[[]byte] {
	index := strings.TrimSuffix(path, filepath.Ext(path)) + ".idx"
	f, err := dataio.OpenIndexed(index, path)
	if err != nil {
		return Fail[[]byte](err)
	}
	d := New(len(f.Index.Keys), func(_ context.Context, i int, _ *rand.Rand) ([]byte, error) {
		return f.Read(f.Index.Keys[i])
	})
	d.close = f.Close
	return d
}
