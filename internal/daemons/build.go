//go:build linux

package daemons

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Build builds a program of this module, such as cmd/gomx, and returns its path.
func Build(t testing.TB, pkg string) string {
	t.Helper()
	return buildIn(t, shared(t), pkg)
}

func buildIn(t testing.TB, dir, pkg string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-o", path, "./"+pkg)
	cmd.Dir = root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("daemons: building %s: %v\n%s", pkg, err, out)
	}
	return path
}

// root returns the folder of this module.
func root(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("daemons: folder of the module: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// shared returns a folder that every user can read, with a short name, until the end of the test.
func shared(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gomx-daemons-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
