package engine_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestUnderAnotherModulePath copies the engine and the packages that it needs to a module with
// another path. There bodies must be recognized and call sites be found as they are here.
func TestUnderAnotherModulePath(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil || testing.Short() {
		t.Skip("wants the go command and some seconds")
	}
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		copyRenamed(t, filepath.Join("..", name), filepath.Join(dir, name))
	}
	for _, pkg := range []string{"dtype", "engine", "engine/core", "device", "device/null",
		"launch/profile"} {
		files, err := filepath.Glob(filepath.Join("..", pkg, "*"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, pkg), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, from := range files {
			if info, err := os.Stat(from); err != nil || info.IsDir() {
				continue
			}
			copyRenamed(t, from, filepath.Join(dir, pkg, filepath.Base(from)))
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const tests = "^(TestNestedPushes|TestNestedInline|TestCallSites)$"
	cmd := exec.CommandContext(ctx, goTool, "test", "-vet=off", "-timeout", "30s", "-run", tests,
		"-v", "./engine")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off",
		"GOTOOLCHAIN=local")
	out, err := cmd.CombinedOutput()
	if passed := strings.Count(string(out), "--- PASS"); err != nil || passed != 3 {
		t.Errorf("%d tests passed, want 3: %v\n%s", passed, err, out[:min(len(out), 4000)])
	}
}

// ownImport matches the beginning of an import of this module, and no other text.
var ownImport = regexp.MustCompile(`(?m)^((?:import|\t) *[a-z_.]* *)"gomx/`)

// copyRenamed copies a file and gives the module another path.
func copyRenamed(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("module gomx\n"), []byte("module example.com/fork.v2\n"))
	text = ownImport.ReplaceAll(text, []byte(`$1"example.com/fork.v2/`))
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
