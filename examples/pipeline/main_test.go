package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gomx/internal/cluster"
)

// TestStages trains all stages in one process, and then one in each of three workers: the
// checkpoints are the same, byte for byte.
func TestStages(t *testing.T) {
	alone, job := t.TempDir(), t.TempDir()
	if err := run(t.Context(), alone, 2); err != nil {
		t.Fatal(err)
	}
	c := cluster.Start(cluster.Config{Workers: 3})
	err := c.Work(t.Context(), func(ctx context.Context, _ int) error { return run(ctx, job, 2) })
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Fatal(err)
	}
	var files [2]string
	for i, dir := range []string{alone, job} {
		b, err := os.ReadFile(filepath.Join(dir, "lstm-0002.params"))
		if err != nil {
			t.Fatal(err)
		}
		files[i] = string(b)
	}
	if files[0] != files[1] || len(files[0]) < 10000 {
		t.Errorf("the checkpoints differ, of %d and %d bytes", len(files[0]), len(files[1]))
	}
}
