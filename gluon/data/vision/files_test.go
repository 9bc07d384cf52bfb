package vision_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"gomx/gluon/data"
	"gomx/gluon/data/vision"
	dataio "gomx/io"
	"gomx/io/image"
	nd "gomx/ndarray"
)

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// idx encodes an idx file of bytes.
func idx(b []byte, shape ...uint32) []byte {
	out := []byte{0, 0, 8, byte(len(shape))}
	for _, n := range shape {
		out = binary.BigEndian.AppendUint32(out, n)
	}
	return append(out, b...)
}

// check compares sample i with a picture's shape, some of its bytes, and a label.
func check(t *testing.T, set data.Dataset[data.Sample], i int, shape nd.Shape, pix []byte,
	label data.Tensor) {
	t.Helper()
	s, err := set.At(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	if len(s) != 2 || !s[0].Shape.Equal(shape) || !bytes.HasPrefix(s[0].Bytes, pix) ||
		!reflect.DeepEqual(s[1], label) {
		t.Errorf("sample %d: %v %v, want a picture %v that begins with %v, and %v", i, s,
			s[0].Bytes[:len(pix)], shape, pix, label)
	}
}

func TestMNIST(t *testing.T) {
	dir := t.TempDir()
	pix := make([]byte, 2*28*28)
	pix[0], pix[28*28] = 5, 6
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(idx(pix, 2, 28, 28))
	z.Close()
	write(t, filepath.Join(dir, "train-images-idx3-ubyte.gz"), zipped.Bytes())
	write(t, filepath.Join(dir, "train-labels-idx1-ubyte"), idx([]byte{3, 4}, 2))
	set := vision.FashionMNIST(dir, vision.Train)
	if err := set.Err(); err != nil || set.Len() != 2 {
		t.Fatalf("%d samples, %v", set.Len(), err)
	}
	check(t, set, 1, nd.Shape{28, 28, 1}, []byte{6, 0}, data.Scalar(int32(4)))
	if err := vision.MNIST(dir, vision.Test).Err(); err == nil {
		t.Error("no test files: no error")
	}
	write(t, filepath.Join(dir, "t10k-images-idx3-ubyte"), idx(pix, 2, 28, 28))
	write(t, filepath.Join(dir, "t10k-labels-idx1-ubyte"), idx([]byte{3}, 1))
	if err := vision.MNIST(dir, vision.Test).Err(); err == nil {
		t.Error("two pictures and one label: no error")
	}
}

func TestCIFAR(t *testing.T) {
	dir := t.TempDir()
	record := func(labels ...byte) []byte {
		planes := make([]byte, 3*1024)
		for i := range planes {
			planes[i] = byte(10*(i/1024)) + labels[0]
		}
		return append(labels, planes...)
	}
	for i, name := range []string{"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
		"data_batch_5", "test_batch"} {
		write(t, filepath.Join(dir, "cifar-10-batches-bin", name+".bin"),
			append(record(byte(i)), record(byte(i+1))...))
	}
	train := vision.CIFAR10(dir, vision.Train)
	if err := train.Err(); err != nil || train.Len() != 10 {
		t.Fatalf("%d samples, %v", train.Len(), err)
	}
	check(t, train, 5, nd.Shape{32, 32, 3}, []byte{3, 13, 23, 3}, data.Scalar(int32(3)))
	check(t, vision.CIFAR10(dir, vision.Test), 0, nd.Shape{32, 32, 3}, []byte{5, 15, 25},
		data.Scalar(int32(5)))
	write(t, filepath.Join(dir, "train.bin"), record(7, 9))
	check(t, vision.CIFAR100(dir, vision.Train, false), 0, nd.Shape{32, 32, 3}, []byte{7, 17, 27},
		data.Scalar(int32(7)))
	check(t, vision.CIFAR100(dir, vision.Train, true), 0, nd.Shape{32, 32, 3}, []byte{7, 17, 27},
		data.Scalar(int32(9)))
	write(t, filepath.Join(dir, "test.bin"), record(7))
	if err := vision.CIFAR100(dir, vision.Test, true).Err(); err == nil {
		t.Error("a record too short: no error")
	}
	if err := vision.CIFAR10(t.TempDir(), vision.Test).Err(); err == nil {
		t.Error("no file: no error")
	}
}

// png encodes a picture of one color.
func png(t *testing.T, width, height int, v uint8) []byte {
	t.Helper()
	m := image.New(height, width, 3)
	for i := range m.Pix {
		m.Pix[i] = v + uint8(i%3)
	}
	b, err := m.PNG()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFolders(t *testing.T) {
	root := t.TempDir()
	for i, name := range []string{"cats/b.png", "cats/a.PNG", "dogs/c.png", "top.png"} {
		write(t, filepath.Join(root, filepath.FromSlash(name)), png(t, 4+i, 3, uint8(10*i)))
	}
	write(t, filepath.Join(root, "dogs", "notes.txt"), []byte("no picture"))
	set, classes := vision.ImageFolder(root, image.RGB)
	if set.Len() != 3 || !reflect.DeepEqual(classes, []string{"cats", "dogs"}) {
		t.Fatalf("%d pictures of %v", set.Len(), classes)
	}
	check(t, set, 0, nd.Shape{3, 5, 3}, []byte{10, 11, 12}, data.Scalar(int32(0)))
	check(t, set, 2, nd.Shape{3, 6, 3}, []byte{20, 21, 22}, data.Scalar(int32(1)))
	if none, _ := vision.ImageFolder(filepath.Join(root, "none"), image.RGB); none.Err() == nil {
		t.Error("no folder: no error")
	}

	list := []dataio.ImageEntry{{ID: 4, Label: []float32{2}, Path: "top.png"},
		{ID: 9, Label: []float32{1, 2}, Path: "cats/b.png"}, {Path: "dogs/notes.txt"}}
	listed := vision.ImageList(root, list, image.Gray)
	check(t, listed, 0, nd.Shape{3, 7, 1}, []byte{30}, data.Scalar(float32(2)))
	check(t, listed, 1, nd.Shape{3, 4, 1}, []byte{0}, data.Values([]float32{1, 2}))
	if _, err := listed.At(t.Context(), 2); err == nil {
		t.Error("a text: no error")
	}

	prefix := filepath.Join(root, "packed")
	if err := dataio.PackImages(t.Context(), prefix, root, list[:2],
		dataio.PackConfig{PassThrough: true}); err != nil {
		t.Fatal(err)
	}
	records := vision.ImageRecord(prefix+".rec", image.RGB)
	defer records.Close()
	check(t, records, 0, nd.Shape{3, 7, 3}, []byte{30, 31, 32}, data.Scalar(float32(2)))
	check(t, records, 1, nd.Shape{3, 4, 3}, []byte{0, 1, 2}, data.Values([]float32{1, 2}))
	if vision.ImageRecord(filepath.Join(root, "none.rec"), image.RGB).Err() == nil {
		t.Error("no file: no error")
	}
}
