package hosts

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Named skips the test unless the flag -run is given. Tests with real daemons call it first, so
// that go test ./... does not need the daemons.
func Named(t testing.TB) {
	t.Helper()
	if f := flag.Lookup("test.run"); f == nil || f.Value.String() == "" {
		t.Skip("needs real daemons: runs only when -run names it")
	}
}

// Need returns the path of a program. If it is missing, the test ends with an error that names the
// Debian package to install.
func Need(t testing.TB, program, pkg string) string {
	t.Helper()
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
		path := filepath.Join(dir, program)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Fatalf("hosts: program %s is missing: install it with apt-get install -y %s", program, pkg)
	return ""
}

// NeedRoot ends the test with an error unless it runs as root.
func NeedRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatalf("hosts: found user %d, want root: namespaces, chroot and daemons need it",
			os.Geteuid())
	}
}
