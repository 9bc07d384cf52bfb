package gluon_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"gomx/checkpoint"
)

// The files testdata/release-COMMIT.resume were written by TestRunOfTheFormerRelease in the tree of
// an earlier release, with the flag -release.write.
var releaseWrite = flag.String("release.write", "",
	"file to which TestRunOfTheFormerRelease writes a run of 20 batches")

const formerRun = "testdata/release-c91b512"

// TestRunOfTheFormerRelease continues a loop that an earlier release has saved after 20 batches.
func TestRunOfTheFormerRelease(t *testing.T) {
	c := resumeCases["adam"]
	if *releaseWrite != "" {
		if _, err := c.run(*releaseWrite, func(n int) error {
			if n == 20 {
				return errCut
			}
			return nil
		}); err != errCut {
			t.Fatal(err)
		}
		return
	}
	prefix := filepath.Join(t.TempDir(), "m")
	b, err := os.ReadFile(checkpoint.RunPath(formerRun))
	if err == nil {
		err = os.WriteFile(checkpoint.RunPath(prefix), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	first := 0
	got, err := c.run(prefix, func(n int) error {
		if first == 0 {
			first = n
		}
		return nil
	})
	if err != nil || first != 21 {
		t.Errorf("the loop begins at batch %d, and ends with %q, %v; want batch 21", first, got, err)
	}
}
