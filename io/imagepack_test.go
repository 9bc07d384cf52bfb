package io_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	dataio "gomx/io"
	"gomx/io/image"
	nd "gomx/ndarray"
)

// photos makes two folders of pictures, and something else beside them.
func photos(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for i, name := range []string{"cats/a.png", "cats/b.PNG", "dogs/c.png", "top.png",
		"dogs/notes.txt"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, picture(t, 20+2*i, 12, uint8(10*i)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestListImages(t *testing.T) {
	root := photos(t)
	list, err := dataio.ListImages(root, true)
	if err != nil {
		t.Fatal(err)
	}
	want := []dataio.ImageEntry{{0, []float32{0}, "cats/a.png"}, {1, []float32{0}, "cats/b.PNG"},
		{2, []float32{1}, "dogs/c.png"}, {3, []float32{0}, "top.png"}}
	if !reflect.DeepEqual(list, want) {
		t.Errorf("got %v, want %v", list, want)
	}
	if list, err := dataio.ListImages(root, false); err != nil || len(list) != 1 ||
		list[0].Path != "top.png" {
		t.Errorf("without classes: %v, %v", list, err)
	}
	if _, err := dataio.ListImages(t.TempDir(), true); err == nil {
		t.Error("an empty folder: no error")
	}

	path := filepath.Join(t.TempDir(), "x.lst")
	var b bytes.Buffer
	want[1].Label = []float32{2, -0.5}
	if err := dataio.WriteImageList(&b, want); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := dataio.ReadImageList(path); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read again: %v, %v, want %v", got, err, want)
	}
}

// TestPackImages packs pictures in several ways and reads them by an iterator.
func TestPackImages(t *testing.T) {
	root := photos(t)
	list, err := dataio.ListImages(root, true)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(list)
	for name, c := range map[string]dataio.PackConfig{"as they are": {PassThrough: true},
		"PNG": {PNG: true}, "JPEG": {Quality: 100, Threads: 3},
		"squares": {PNG: true, CenterCrop: true, Resize: 24}, "luminance": {PNG: true,
			Gray: true}} {
		t.Run(name, func(t *testing.T) {
			prefix := filepath.Join(t.TempDir(), "p")
			done := 0
			c.Packed = func(n, all int) { done = n }
			if err := dataio.PackImages(t.Context(), prefix, root, list, c); err != nil ||
				done != 4 {
				t.Fatalf("%d packed, %v", done, err)
			}
			it := openPictures(t, dataio.ImageRecordConfig{Path: prefix + ".rec", Index: prefix +
				".idx", DataShape: nd.Shape{3, 12, 12}, BatchSize: 4})
			data, labels := epochOf(t, it)
			if !slices.Equal(labels, []float32{0, 1, 0, 0}) {
				t.Errorf("labels %v", labels)
			}
			for i, x := range data {
				red := []float32{30, 20, 10, 0}[i]
				if c.Gray {
					red = x[144] // all channels are equal
				}
				if d := x[0] - red; d < -8 || d > 8 {
					t.Errorf("picture %d has %v, want %v", i, x[0], red)
				}
			}
		})
	}
}

func TestPackMistakes(t *testing.T) {
	root := photos(t)
	prefix := filepath.Join(t.TempDir(), "p")
	list := []dataio.ImageEntry{{0, []float32{0}, "cats/a.png"},
		{1, []float32{0}, "dogs/notes.txt"}}
	if err := os.WriteFile(filepath.Join(root, "dogs/notes.txt"), []byte("no picture"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if err := dataio.PackImages(t.Context(), prefix, root, list, dataio.PackConfig{}); err == nil ||
		!strings.Contains(err.Error(), "notes.txt") {
		t.Errorf("a text: %v", err)
	}
	for _, end := range []string{".rec", ".idx"} {
		if _, err := os.Stat(prefix + end); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left behind: %v", end, err)
		}
	}
	if err := dataio.PackImages(t.Context(), prefix, root, list[:1],
		dataio.PackConfig{Quality: 101}); err == nil {
		t.Error("quality 101: no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := dataio.PackImages(ctx, prefix, root, list[:1], dataio.PackConfig{}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := (image.New(2, 2, 3)).JPEG(90); err != nil {
		t.Error(err)
	}
}
