package conformance_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/device"
	"gomx/internal/conformance"
)

func someReport(t *testing.T) (*conformance.Report, string) {
	t.Helper()
	cases := []conformance.Case{
		{ID: "good", Run: func(conformance.Env) error { return nil }},
		{ID: "bad", Run: func(conformance.Env) error { return errors.New("two\n lines") }},
		{ID: "panics", Run: func(conformance.Env) error { panic("boom") }},
		{ID: "slow", Run: func(conformance.Env) error {
			if device.MaxTier() == device.TierRef {
				return errors.New("wrong")
			}
			return nil
		}},
	}
	var out bytes.Buffer
	r := conformance.Run(&out, "TestX", cases, conformance.Env{}, []device.Tier{device.TierRef,
		device.TierGo})
	return r, out.String()
}

func TestRun(t *testing.T) {
	before := device.MaxTier()
	r, out := someReport(t)
	if got, want := r.Summary(), "TestX: 1 passed, 3 failed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, want := range []string{"FAIL bad: tier ref: two lines\n",
		"FAIL panics: tier ref: panic: boom at conformance/report_test.go:",
		"FAIL slow: tier ref: wrong\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("got %q, want %q in it", out, want)
		}
	}
	if device.MaxTier() != before {
		t.Errorf("the tier stayed limited to %v", device.MaxTier())
	}
}

func TestKnown(t *testing.T) {
	r, _ := someReport(t)
	path := filepath.Join(t.TempDir(), "TestX.txt")
	tests := []struct {
		name, list string
		want       []string
	}{
		{"right", "bad\npanics\nslow\nelsewhere\n", nil},
		{"unlisted", "bad\npanics\n", []string{"slow: fails and is not in "}},
		{"passes", "bad\ngood\npanics\nslow\n", []string{"good: passes, remove it from "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(tt.list), 0o644); err != nil {
				t.Fatal(err)
			}
			k, err := conformance.ReadKnown(path)
			if err != nil {
				t.Fatal(err)
			}
			got := k.Check(r)
			if !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if err := k.Rewrite(r); err != nil {
				t.Fatal(err)
			}
			if k, err = conformance.ReadKnown(path); err != nil || len(k.Check(r)) != 0 {
				t.Errorf("after rewriting: got %q, %v, want no complaints", k.Check(r), err)
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	if _, err := conformance.Open(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("got no error for a missing folder")
	}
	dir := t.TempDir()
	g, err := conformance.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conformance.OpCases(g); err == nil ||
		!strings.Contains(err.Error(), "cases.json") {
		t.Errorf("got %v, want the name of the missing index", err)
	}
	if _, err := g.Array("ops/none.npz", conformance.Ref{Key: "x/in.data",
		DType: "float32"}); err == nil ||
		!strings.Contains(err.Error(), "x/in.data of ops/none.npz") {
		t.Errorf("got %v, want array and archive", err)
	}
}
