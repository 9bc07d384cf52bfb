//go:build cgo && unix

package launch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gomx/kvstore/wire"
	"gomx/launch"
)

// TestKeysOfOthers opens files of keys to other users and wants them refused.
func TestKeysOfOthers(t *testing.T) {
	self := wire.Node{Role: wire.Worker, Rank: 1}
	for name, c := range map[string]struct {
		path string
		mode os.FileMode
		ok   bool
	}{
		"private":             {"worker-1.json", 0o600, true},
		"readable by group":   {"worker-1.json", 0o640, false},
		"readable by all":     {"worker-1.json", 0o604, false},
		"folder for all":      {".", 0o777, false},
		"folder of a group":   {".", 0o770, false},
		"folder to look into": {".", 0o755, true},
		"another's key":       {"worker-0.json", 0o644, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "keys")
			if err := launch.MakeKeys(dir, 2, 1); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(dir, c.path), c.mode); err != nil {
				t.Fatal(err)
			}
			ring, err := launch.LoadKeys(dir, self)
			if (err == nil) != c.ok || err == nil && len(ring.Nodes) != 4 {
				t.Errorf("got %v, want accepted: %t", err, c.ok)
			}
			if err != nil && !strings.Contains(err.Error(), dir) {
				t.Errorf("%v does not name the file", err)
			}
		})
	}
}
