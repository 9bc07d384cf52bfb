// Command opgen writes the files that derive from the operator registry: ndarray/op_gen.go,
// symbol/op_gen.go and docs/ops.md. It contains no operator names: everything comes from op.All().
//
//	go run ./internal/opgen            # from anywhere in the module
//
// go run ./internal/opgen -check # reports outdated files and writes nothing
//
// Add a new family of operators to families.go. The generator writes no function whose name a
// handwritten function of the package has.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	check := flag.Bool("check", false, "only report outdated files")
	flag.Parse()
	root, err := moduleRoot()
	if err == nil {
		err = run(root, *check)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "opgen:", err)
		os.Exit(1)
	}
}

// run writes the files that differ, or reports them if check is set.
func run(root string, check bool) error {
	files, err := Generate(root)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(root, name)
		old, err := os.ReadFile(path)
		if err == nil && bytes.Equal(old, files[name]) {
			continue
		}
		if check {
			return fmt.Errorf("%s is out of date: run go generate ./ndarray", name)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return err
		}
		fmt.Println("wrote", name)
	}
	return nil
}

// moduleRoot returns the directory of go.mod above the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod above the working directory")
		}
		dir = parent
	}
}
