package io_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"gomx/internal/hostile"
	dataio "gomx/io"
	"gomx/io/image"
	nd "gomx/ndarray"
)

// batches opens an iterator on files and reads all batches.
func batches(t dataio.Iter, err error) error {
	if err != nil {
		return err
	}
	for range 1000 {
		if _, err := t.Next(context.Background()); err != nil {
			break
		}
	}
	if c, ok := t.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func TestHostileTexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	onDisk := func(open func() error) func([]byte) error {
		return func(file []byte) error {
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			return open()
		}
	}
	cfg := dataio.TextConfig{Data: path, DataShape: nd.Shape{3}}
	csv := func(s nd.Storage) func() error {
		return func() error {
			it, err := dataio.CSVIter(dataio.CSVConfig{TextConfig: cfg, Storage: s})
			return batches(it, err)
		}
	}
	svm := func(hash *dataio.Hashing, part, parts int) func() error {
		return func() error {
			c := dataio.LibSVMConfig{TextConfig: cfg, Hash: hash}
			c.PartIndex, c.NumParts = part, parts
			it, err := dataio.LibSVMIter(c)
			return batches(it, err)
		}
	}
	clicks := []byte("1 0:2 2:3\n0:0.5 qid:4 2:2 1 # x\n\n1\n")
	for _, k := range []hostile.Kind{
		{Name: "csv", Seeds: [][]byte{[]byte("1,2,3\n4,5e3,6\n-7,8,0.25\n")},
			Decode: onDisk(csv(nd.Dense))},
		{Name: "csv to csr", Seeds: [][]byte{[]byte("1,0,3\n4,5e3,6\n0,0,0.25\n")},
			Decode: onDisk(csv(nd.CSR))},
		{Name: "libsvm", Seeds: [][]byte{clicks}, Decode: onDisk(svm(nil, 0, 1))},
		{Name: "libsvm, a part", Seeds: [][]byte{clicks}, Decode: onDisk(svm(nil, 1, 2))},
		{Name: "libsvm, hashed", Seeds: [][]byte{clicks, []byte("1 user:7:0.5 word\n")},
			Decode: onDisk(svm(&dataio.Hashing{}, 0, 1))},
		{Name: ".lst", Seeds: [][]byte{[]byte("0\t1.000000\ta/b.jpg\n1\t0\t2\tc.png\n")},
			Decode: onDisk(func() error { _, err := dataio.ReadImageList(path); return err })},
		{Name: ".idx of records", Seeds: [][]byte{[]byte("0\t0\n1\t120\n2\t244\n")},
			Decode: onDisk(func() error {
				_, err := dataio.ReadRecordIndex(bytes.NewReader(must(os.ReadFile(path))))
				return err
			})},
	} {
		k.Text = true
		k.Run(t)
	}
}

// must returns a value that tests have made.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestHostileIDX(t *testing.T) {
	dir := t.TempDir()
	images, labels := filepath.Join(dir, "images"), filepath.Join(dir, "labels")
	good := idx(8, []uint32{4, 2, 3}, make([]byte, 24)...)
	if err := os.WriteFile(labels, idx(8, []uint32{4}, 0, 1, 2, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(good); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	hostile.Kind{Name: "idx", Seeds: [][]byte{good, packed.Bytes()},
		Decode: func(file []byte) error {
			if err := os.WriteFile(images, file, 0o600); err != nil {
				t.Fatal(err)
			}
			return batches(dataio.MNISTIter(dataio.MNISTConfig{Image: images, Label: labels,
				BatchSize: 2}))
		}}.Run(t)
	hostile.Kind{Name: "idx of all types", Seeds: [][]byte{good, idx(0x0e, []uint32{1},
		make([]byte, 8)...), idx(0x0b, []uint32{0, 3})},
		Decode: func(file []byte) error {
			_, err := dataio.ReadIDX(bytes.NewReader(file))
			return err
		}}.Run(t)
}

// packed is a RecordIO file of three small pictures, and its index.
func packed(t *testing.T) (rec, index []byte) {
	var file bytes.Buffer
	w := dataio.NewRecordWriter(&file)
	for i := range 3 {
		m := image.New(9, 7, 3)
		content, err := m.PNG()
		if i == 1 {
			content, err = m.JPEG(90)
		}
		if err != nil {
			t.Fatal(err)
		}
		index = fmt.Appendf(index, "%d\t%d\n", i, w.Offset())
		if err := w.Write(dataio.PackRecord(dataio.RecordHeader{Label: []float32{float32(i)},
			ID: uint64(i), List: i == 2}, content)); err != nil {
			t.Fatal(err)
		}
	}
	return file.Bytes(), index
}

func TestHostileRecords(t *testing.T) {
	rec, index := packed(t)
	dir := t.TempDir()
	recPath, idxPath := filepath.Join(dir, "a.rec"), filepath.Join(dir, "a.idx")
	write := func(path string, file []byte) {
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(withIndex bool) error {
		c := dataio.ImageRecordConfig{Path: recPath, DataShape: nd.Shape{3, 6, 6}, BatchSize: 2,
			MaxPixels: 1 << 20, Threads: 1}
		if withIndex {
			c.Index = idxPath
		}
		it, err := dataio.ImageRecordIter(c)
		if err != nil {
			return err
		}
		return errors.Join(batches(it.Table, nil), it.Close())
	}
	hostile.Kind{Name: ".rec", Seeds: [][]byte{rec}, Extra: 16 << 20,
		Decode: func(file []byte) error {
			write(recPath, file)
			return read(false)
		}}.Run(t)
	write(recPath, rec)
	hostile.Kind{Name: ".rec by index", Seeds: [][]byte{index}, Text: true, Extra: 16 << 20,
		Decode: func(file []byte) error {
			write(idxPath, file)
			return read(true)
		}}.Run(t)
	write(idxPath, index)
	hostile.Kind{Name: ".rec of an index", Seeds: [][]byte{rec}, Extra: 16 << 20,
		Decode: func(file []byte) error {
			write(recPath, file)
			x, err := dataio.OpenIndexed(idxPath, recPath)
			if err != nil {
				return err
			}
			for _, k := range x.Index.Keys {
				if payload, rerr := x.Read(k); rerr == nil {
					_, _, rerr = dataio.UnpackRecord(payload)
					err = errors.Join(err, rerr)
				}
			}
			return errors.Join(err, x.Close())
		}}.Run(t)
}
