package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const renamed = "example.org/me/gomx"

// command runs a command in dir and returns what it prints.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// A renamed copy is released, and a program outside of it fetches and runs the release.
func TestRenamedReleaseIsFetched(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a renamed copy of the module")
	}
	dir := t.TempDir()
	copied, dist, user := filepath.Join(dir, "copy"), filepath.Join(dir, "dist"), filepath.Join(dir, "user")
	root := strings.TrimSpace(command(t, ".", nil, "git", "rev-parse", "--show-toplevel"))
	command(t, ".", nil, "git", "clone", "-q", "--no-hardlinks", root, copied)
	if err := rename(copied, renamed); err != nil {
		t.Fatal(err)
	}
	if left := leftovers(t, copied); left != "" {
		t.Errorf("the old path is left in\n%s", left)
	}
	id := []string{"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t"}
	command(t, copied, id, "git", "commit", "-qam", "renamed")
	if err := release(copied, dist, "v0.2.0"); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(user, 0o755); err != nil {
		t.Fatal(err)
	}
	program := "package main\n\nimport (\n\t\"fmt\"\n\n\tnd \"" + renamed + "/ndarray\"\n)\n\n" +
		"func main() { fmt.Printf(\"%.1f\\n\", nd.FromSlice([]float32{1, 2}).AddScalar(1)) }\n"
	if err := os.WriteFile(filepath.Join(user, "main.go"), []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	cache := strings.TrimSpace(command(t, ".", nil, "go", "env", "GOMODCACHE"))
	env := []string{"GOPROXY=file://" + dist + ",file://" + filepath.Join(cache, "cache", "download"), "GOSUMDB=off",
		"GOFLAGS=-mod=mod -modcacherw -trimpath", "GOMODCACHE=" + filepath.Join(dir, "mod"), "CGO_ENABLED=0", "GOWORK=off"}
	command(t, user, env, "go", "mod", "init", "example.org/user")
	command(t, user, env, "go", "get", renamed+"/ndarray@v0.2.0")
	if got, want := command(t, user, env, "go", "run", "."), "[2.0 3.0]"; !strings.HasSuffix(strings.TrimSpace(got), want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// leftovers lists imports of the old path.
func leftovers(t *testing.T, root string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "grep", "-InE", `^\s*([a-z]+ )?"gomx/|^module gomx`)
	cmd.Dir = root
	out, _ := cmd.Output() // exit code 1: nothing is found
	return string(out)
}

func TestWrongNames(t *testing.T) {
	for _, args := range [][]string{{"rename", "nodot"}, {"rename", "a b.c/d"}, {"release", "1.0"}, {"release", ""}, {"other", "x"}, nil} {
		if run(args) == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
