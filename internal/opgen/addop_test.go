package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAddOperator adds a layer with a kernel to a copy of the module: the file of its family, its
// test and its kernel by hand, all else by the generator. The layer then computes, and the rules of
// the tree hold.
func TestAddOperator(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles packages that depend on operators")
	}
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	copyModule(t, root, tree)
	added := []string{}
	for _, name := range []string{"highway.go", "highway_cpu.go", "highway_test.go"} {
		text, err := os.ReadFile(filepath.Join("testdata", "addop", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("op", "nn", name)
		if err := os.WriteFile(filepath.Join(tree, path), text, 0o644); err != nil {
			t.Fatal(err)
		}
		added = append(added, path)
	}
	inTree(t, tree, "run", "./internal/opgen")
	inTree(t, tree, "test", "./op/nn", "-run", "^TestHighway$")
	inTree(t, tree, "test", "./internal/arch", "-run", "^(TestRepository|TestDocLinks)$")
	inTree(t, tree, "vet", "./ndarray", "./symbol")

	generated := []string{"docs/ops.md", "internal/opgen/ctypes.txt", "ndarray/op_gen.go", "symbol/op_gen.go"}
	for _, path := range differences(t, root, tree) {
		if !slices.Contains(added, path) && !slices.Contains(generated, path) {
			t.Errorf("%s changed: want the files of the operator and generated ones only", path)
		}
	}
	for _, path := range []string{"ndarray/op_gen.go", "symbol/op_gen.go"} {
		if text := contents(t, tree)[path]; !bytes.Contains(text, []byte("\nfunc Highway(")) {
			t.Errorf("%s has no function Highway", path)
		}
	}
}

// inTree runs the go command in a tree and fails the test where the command fails. Paths are
// trimmed, so that the build cache serves all trees.
func inTree(t *testing.T, tree string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// contents returns the files of a module by their paths, hidden folders left out.
func contents(t *testing.T, root string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(rel)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func copyModule(t *testing.T, from, to string) {
	t.Helper()
	for path, text := range contents(t, from) {
		target := filepath.Join(to, path)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// differences returns the paths of the files that differ between two trees, sorted.
func differences(t *testing.T, a, b string) []string {
	t.Helper()
	old, now := contents(t, a), contents(t, b)
	paths := map[string]bool{}
	for path, text := range now {
		if was, ok := old[path]; !ok || !bytes.Equal(was, text) {
			paths[path] = true
		}
	}
	for path := range old {
		if _, ok := now[path]; !ok {
			paths[path] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}
