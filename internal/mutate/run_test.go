package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// module writes a small module with one function and the tests given.
func module(t *testing.T, tests string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.26\n",
		"m.go": "package m\n\nfunc Max(a, b int) int {\n\tif a > b {\n\t\treturn " +
			"a\n\t}\n\treturn b\n}\n\n" +
			"func Twice(a int) int {\n\treturn a + a\n}\n",
		"tagged.go": "//go:build never\n\npackage m\n\nfunc Half(a int) int {\n\treturn a - " +
			"a/2\n}\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\n" + tests,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return "."
}

func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds test binaries")
	}
	const strong = "func TestMax(t *testing.T) {\n\tif Max(1, 2) != 2 || Max(2, 1) != 2 || " +
		"Twice(3) != 6 {\n\t\tt.Fatal()\n\t}\n}\n"
	tests := []struct {
		name, tests string
		least       float64
		want        []string
		err         error
	}{
		// a > b and a >= b are the same function: that mutant cannot be killed.
		{"strong", strong, 0.6, []string{"survived: m.go:4:7: > becomes >=",
			"mutate: 2 of 3 killed"}, nil},
		{"empty", "func TestNothing(t *testing.T) {}\n", 0.6, []string{"mutate: 0 of 3 killed"},
			errWeak},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			o := options{folder: module(t, tt.tests), n: 10, seed: 3, timeout: time.Minute,
				workers: 2, least: tt.least}
			if err := run(t.Context(), o, &out); !errors.Is(err, tt.err) {
				t.Fatalf("got error %v, want %v", err, tt.err)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got %q, want it to contain %q", out.String(), want)
				}
			}
		})
	}
}

func TestFailingTestsAreAnError(t *testing.T) {
	if testing.Short() {
		t.Skip("builds test binaries")
	}
	var out strings.Builder
	o := options{folder: module(t, "func TestMax(t *testing.T) { t.Fatal() }\n"), n: 1,
		timeout: time.Minute}
	if err := run(t.Context(), o, &out); err == nil ||
		!strings.Contains(err.Error(), "fail without a fault") {
		t.Errorf("got %v, want an error that says that the tests fail without a fault", err)
	}
}

func TestFlags(t *testing.T) {
	for arg, want := range map[string]string{
		"-run": "-test.run", "--run=X": "-test.run=X", "-schedules": "-schedules", "run": "run",
	} {
		if got := testFlag(arg); got != want {
			t.Errorf("testFlag(%q): got %q, want %q", arg, got, want)
		}
	}
}

// TestTestsOfOtherPackagesKill plants faults in a package without tests that another one uses.
func TestTestsOfOtherPackagesKill(t *testing.T) {
	if testing.Short() {
		t.Skip("builds test binaries")
	}
	folder := module(t, "func TestNothing(t *testing.T) {}\n")
	if err := os.Mkdir("user", 0o700); err != nil {
		t.Fatal(err)
	}
	text := "package user\n\nimport (\n\t\"testing\"\n\n\t\"m\"\n)\n\nfunc TestTwice(t " +
		"*testing.T) " +
		"{\n\tif m.Max(2, 1) != 2 || m.Twice(3) != 6 {\n\t\tt.Fatal()\n\t}\n}\n"
	if err := os.WriteFile("user/user_test.go", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, also := range map[string][]string{
		"mutate: 0 of 3 killed": nil, "mutate: 2 of 3 killed": {"./user"}} {
		var out strings.Builder
		o := options{folder: folder, n: 10, seed: 3, timeout: time.Minute, workers: 1, also: also}
		if err := run(t.Context(), o, &out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("with the tests of %v: got %q, want it to contain %q", also, out.String(),
				want)
		}
	}
}
