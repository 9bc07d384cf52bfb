package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const renamed = "example.org/me/gomx"

var whole = flag.Bool("whole", false, "rename a copy of this module, test it, release it and "+
	"fetch the release (minutes)")

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

// identity is the environment of git commands that commit.
var identity = []string{"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t",
	"GIT_COMMITTER_EMAIL=t@t"}

// clone makes a copy of this module in dir.
func clone(t *testing.T, dir string) {
	t.Helper()
	root := strings.TrimSpace(command(t, ".", nil, "git", "rev-parse", "--show-toplevel"))
	command(t, ".", nil, "git", "clone", "-q", "--no-hardlinks", root, dir)
}

// renameClone renames a clone, in which the old path must be left nowhere.
func renameClone(t *testing.T, dir string) {
	t.Helper()
	if err := rename(dir, renamed); err != nil {
		t.Fatal(err)
	}
	if left := leftovers(t, dir); left != "" {
		t.Errorf("the old path is left in\n%s", left)
	}
}

// Renaming leaves records of a program in the folder runs as they are, and nothing else.
func TestRenameKeepsRecords(t *testing.T) {
	if exec.Command("git", "rev-parse", "--show-toplevel").Run() != nil {
		t.Skip("wants a clone of the module by git")
	}
	copied := filepath.Join(t.TempDir(), "copy")
	clone(t, copied)
	const record = "\"gomx/runs\"\n"
	write(t, copied, map[string]string{"runs/mine/events.jsonl": record})
	renameClone(t, copied)
	if got, err := os.ReadFile(filepath.Join(copied, "runs/mine/events.jsonl")); string(got) != record {
		t.Errorf("the record is %q, %v", got, err)
	}
}

// A renamed copy of this module passes tests, is released, and a program outside of it fetches and
// runs the release.
func TestRenamedReleaseIsFetched(t *testing.T) {
	if !*whole {
		t.Skip("make rename-check runs it: it builds a renamed copy of the module")
	}
	dir := t.TempDir()
	copied, dist := filepath.Join(dir, "copy"), filepath.Join(dir, "dist")
	clone(t, copied)
	renameClone(t, copied)
	t.Log(command(t, copied, nil, "go", "test", "-timeout", "20m", "./engine/...",
		"./examples/mnist"))
	command(t, copied, identity, "git", "commit", "-qam", "renamed")
	if err := release(copied, dist, "v0.2.0"); err != nil {
		t.Fatal(err)
	}
	program := "package main\n\nimport (\n\t\"fmt\"\n\n\tnd \"" + renamed + "/ndarray\"\n)\n\n" +
		"func main() { fmt.Printf(\"%.1f\\n\", nd.FromSlice([]float32{1, 2}).AddScalar(1)) }\n"
	if got, want := fetch(t, dist, "ndarray", program), "[2.0 3.0]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A small module is renamed, released in two versions and fetched.
func TestSmallReleaseIsFetched(t *testing.T) {
	dir := t.TempDir()
	root, dist := filepath.Join(dir, "small"), filepath.Join(dir, "dist")
	write(t, root, map[string]string{
		"go.mod": "module small\n\ngo 1.26\n",
		"sum/sum.go": "// Package sum is imported as small/sum; it is a small/large " +
			"matter.\npackage sum\n\nimport \"small/deep\"\n\nfunc Of(a, b int) int { return " +
			"deep.Add(a, b) }\n",
		"deep/deep.go": "package deep\n\nfunc Add(a, b int) int { return a + b }\n",
		"nest/go.mod": "module small/nest\n\ngo 1.26\n\nrequire small v0.0.0\n\nreplace " +
			"small => ../\n",
		"nest/nest.go":   "package nest\n\nimport _ \"small/sum\"\n",
		"docs/readme.md": "`go doc small/sum`, and /usr/small/sum stays.\n",
	})
	if err := rename(root, renamed); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"go.mod": "module " + renamed + "\n\ngo 1.26\n",
		"sum/sum.go": "// Package sum is imported as " + renamed +
			"/sum; it is a small/large matter.\npackage sum\n\nimport \"" + renamed +
			"/deep\"\n\nfunc Of(a, b int) int { return deep.Add(a, b) }\n",
		"nest/go.mod": "module " + renamed + "/nest\n\ngo 1.26\n\nrequire " + renamed +
			" v0.0.0\n\nreplace " + renamed + " => ../\n",
		"nest/nest.go":   "package nest\n\nimport _ \"" + renamed + "/sum\"\n",
		"docs/readme.md": "`go doc " + renamed + "/sum`, and /usr/small/sum stays.\n",
	} {
		if got, err := os.ReadFile(filepath.Join(root, path)); err != nil || string(got) != want {
			t.Errorf("%s: got\n%s\nwant\n%s (%v)", path, got, want, err)
		}
	}
	command(t, root, nil, "git", "init", "-q")
	command(t, root, nil, "git", "add", ".")
	command(t, root, identity, "git", "commit", "-qm", "first")
	for _, version := range []string{"v0.2.0", "v0.10.0"} {
		if err := release(root, dist, version); err != nil {
			t.Fatal(err)
		}
	}
	list, err := os.ReadFile(filepath.Join(dist, filepath.FromSlash(renamed), "@v", "list"))
	if want := "v0.2.0\nv0.10.0\n"; err != nil || string(list) != want {
		t.Errorf("list of versions %q, %v, want %q", list, err, want)
	}
	program := "package main\n\nimport \"" + renamed +
		"/sum\"\n\nfunc main() { println(sum.Of(1, 2)) }\n"
	if got := fetch(t, dist, "sum", program); got != "3" {
		t.Errorf("got %q, want 3", got)
	}
}

// fetch makes a program that imports a package of a release, and returns what it prints.
func fetch(t *testing.T, dist, pkg, program string) string {
	t.Helper()
	user := t.TempDir()
	write(t, user, map[string]string{"main.go": program})
	cache := strings.TrimSpace(command(t, ".", nil, "go", "env", "GOMODCACHE"))
	env := []string{"GOPROXY=file://" + dist + ",file://" + filepath.Join(cache, "cache",
		"download"), "GOSUMDB=off",
		"GOFLAGS=-mod=mod -modcacherw -trimpath", "GOMODCACHE=" + filepath.Join(t.TempDir(), "mod"),
		"CGO_ENABLED=0", "GOWORK=off"}
	command(t, user, env, "go", "mod", "init", "example.org/user")
	command(t, user, env, "go", "get", renamed+"/"+pkg+"@v0.2.0")
	return strings.TrimSpace(command(t, user, env, "go", "run", "."))
}

// write makes files below root.
func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// leftovers lists imports of the old path.
func leftovers(t *testing.T, root string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "grep", "-InE",
		`^\s*([a-z]+ )?"gomx/|^module gomx`)
	cmd.Dir = root
	out, _ := cmd.Output() // exit code 1: nothing is found
	return string(out)
}

func TestWrongNames(t *testing.T) {
	for _, args := range [][]string{{"rename", "nodot"}, {"rename", "a b.c/d"}, {"release", "1.0"},
		{"release", ""}, {"other", "x"}, nil} {
		if run(args) == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
