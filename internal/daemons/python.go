//go:build linux

package daemons

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// venv is the folder below the module's root in which make test-jobs installs Python packages.
const venv = ".cache/jobs"

// Python returns a Python interpreter that has the package kubernetes-validate, with the schemas of
// Kubernetes, and the command of this package beside it.
func Python(t testing.TB) string {
	t.Helper()
	var tried []string
	if path, err := exec.LookPath("kubernetes-validate"); err == nil {
		tried = append(tried, filepath.Join(filepath.Dir(path), "python3"))
	}
	tried = append(tried, filepath.Join(root(t), venv, "bin", "python3"))
	for _, python := range tried {
		if _, err := os.Stat(filepath.Join(filepath.Dir(python),
			"kubernetes-validate")); err == nil {
			return python
		}
	}
	t.Fatalf("daemons: program kubernetes-validate is missing: install it with python3 -m venv %s "+
		"&& %s/bin/pip install kubernetes-validate==1.37.0, in the root of the module", venv, venv)
	return ""
}
