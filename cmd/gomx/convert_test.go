package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/checkpoint/safetensors"
	"gomx/dtype"
	nd "gomx/ndarray"
)

// TestConvertRounds converts .params through every other format and back, and compares the bytes.
func TestConvertRounds(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dir := t.TempDir()
	first := filepath.Join(dir, "first.params")
	list := map[string]*nd.Array{}
	for i := range 9 {
		list[fmt.Sprintf("arg:w%d", i)] = nd.Uniform(0, 1, nd.Shape{i + 1, 3}, nd.Seed(seed))
	}
	list["aux:mean"] = nd.Ones(nd.Shape{4}, nd.As(dtype.Float16))
	if err := checkpoint.SaveMap(first, list); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.npz", "a.safetensors", "a" + safetensors.IndexSuffix} {
		f := convertFlags{names: "keep", shard: 200}
		there, back := filepath.Join(dir, name), filepath.Join(dir, "back.npz")
		last := filepath.Join(dir, "last.params")
		for _, step := range [][2]string{{first, there}, {there, back}, {back, last}} {
			if err := f.run(io.Discard, step[0], step[1]); err != nil {
				t.Fatal(err)
			}
		}
		got, err := checkpoint.LoadMap(last)
		if err != nil {
			t.Fatal(err)
		}
		again := filepath.Join(dir, "again.params")
		if err := checkpoint.SaveMap(again, got); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(again); err != nil || !bytes.Equal(text, want) {
			t.Errorf("%s: %d bytes come back, %v, want the %d of before", name, len(text), err,
				len(want))
		}
		if rows, err := inspect(there); err != nil || len(rows) != 10 {
			t.Errorf("inspect %s: %d rows, %v, want 10", name, len(rows), err)
		}
	}
}

func TestConvertNames(t *testing.T) {
	dir := t.TempDir()
	in, mapping := filepath.Join(dir, "in.params"), filepath.Join(dir, "map.json")
	if err := checkpoint.SaveMap(in, map[string]*nd.Array{"arg:w": nd.Ones(nd.Shape{1}),
		"aux:m": nd.Ones(nd.Shape{1}), "b": nd.Ones(nd.Shape{1})}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		names, mapping, want string
	}{
		{"keep", "", "arg:w aux:m b"},
		{"plain", "", "b m w"},
		{"arg", "", "arg:b arg:w aux:m"},
		{"plain", `{"w": "weight"}`, "b m weight"},
		{"plain", `{"x": "y"}`, `error has no array "x"`},
		{"plain", `{"w": "b"}`, `error two arrays would be named "b"`},
		{"plain", `[]`, "error want a JSON object"},
		{"other", "", "error want keep, plain or arg"},
	} {
		f := convertFlags{names: c.names}
		if c.mapping != "" {
			f.nameMap = mapping
			if err := os.WriteFile(mapping, []byte(c.mapping), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out := filepath.Join(dir, "out.safetensors")
		err := f.run(io.Discard, in, out)
		if text, bad := strings.CutPrefix(c.want, "error "); bad {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%v: got error %v, want %q", c, err, text)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		arrays, err := safetensors.Load(out)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for name := range arrays {
			names = append(names, name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%v: got names %s", c, got)
		}
	}
	for _, files := range [][2]string{{in, "x.txt"}, {"x.npy", "x.npz"}, {in, "x.npy"}} {
		err := (&convertFlags{names: "keep"}).run(io.Discard, files[0], files[1])
		if err == nil || !strings.Contains(err.Error(), "want a name that ends in") {
			t.Errorf("%v: got %v", files, err)
		}
	}
}
