package main

import (
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	dataio "gomx/io"
)

// TestIm2rec makes lists of a folder with two classes, and packs them.
func TestIm2rec(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a/1.png", "a/2.png", "b/1.png", "b/2.png"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(f, image.NewGray(image.Rect(0, 0, 20, 10))); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	prefix := filepath.Join(t.TempDir(), "pics")
	if out, err := gomx(t, "im2rec", "--list", "--recursive", "--train-ratio", "0.75", prefix,
		root); err != nil || !strings.Contains(out, "_train.lst: 3 pictures") {
		t.Fatalf("got %q, %v", out, err)
	}
	for end, want := range map[string]int{"_train": 3, "_val": 1} {
		list, err := dataio.ReadImageList(prefix + end + ".lst")
		if err != nil || len(list) != want {
			t.Fatalf("%s: %v, %v", end, list, err)
		}
		if out, err := gomx(t, "im2rec", prefix+end, root, "--resize", "8"); err != nil ||
			!strings.Contains(out, "pictures") {
			t.Fatalf("got %q, %v", out, err)
		}
		x, err := dataio.OpenIndexed(prefix+end+".idx", prefix+end+".rec")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			b, err := x.Read(int(e.ID))
			if err != nil {
				t.Fatal(err)
			}
			if h, _, err := dataio.UnpackRecord(b); err != nil || h.ID != e.ID ||
				h.Label[0] != e.Label[0] {
				t.Errorf("%v is packed as %+v, %v", e, h, err)
			}
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := os.WriteFile(prefix+".lst", []byte("5\t2\t5\t1\t0.1\t0.2\t0.3\t0.4\ta/1.png\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]int{"true": 7, "false": 1} {
		if _, err := gomx(t, "im2rec", prefix, root, "--pack-label="+flag); err != nil {
			t.Fatal(err)
		}
		x, err := dataio.OpenIndexed(prefix+".idx", prefix+".rec")
		if err != nil {
			t.Fatal(err)
		}
		b, err := x.Read(5)
		if err != nil {
			t.Fatal(err)
		}
		if h, _, err := dataio.UnpackRecord(b); err != nil || len(h.Label) != want ||
			h.Label[0] != 2 {
			t.Errorf("--pack-label=%s: %+v, %v, want %d numbers", flag, h, err, want)
		}
		x.Close()
	}
	for _, args := range [][]string{{prefix, root, "--encoding", ".gif"},
		{prefix, root, "--inter-method", "7"}, {prefix, root, "--list", "--train-ratio", "2"},
		{prefix + "none", root}} {
		if _, err := gomx(t, append([]string{"im2rec"}, args...)...); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
