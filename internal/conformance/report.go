package conformance

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"gomx/device"
)

// Env is the environment of a case.
type Env struct {
	Golden *Golden
	Device device.Device
}

// Case is one golden case.
type Case struct {
	ID     string
	Run    func(env Env) error // nil: passed
	Weight int                 // elements to compute, for cases that may be too large; see size.go
	Slow   bool                // it takes seconds: it runs where all cases are asked for
}

// errMissing is the error of a case for a feature that gomx does not have.
var errMissing = errors.New("not implemented")

// missing returns an error that names the missing feature.
func missing(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errMissing, fmt.Sprintf(format, args...))
}

// Report is the result of a test.
type Report struct {
	Name           string
	Passed, Failed []string
}

// Run runs the cases on every tier and writes one line per failing case. A case passes when it
// passes on every tier.
func Run(w io.Writer, name string, cases []Case, env Env, tiers []device.Tier) *Report {
	r := &Report{Name: name}
	for _, c := range cases {
		if why := runTiers(c, env, tiers); why != "" {
			r.Failed = append(r.Failed, c.ID)
			fmt.Fprintf(w, "FAIL %s: %s\n", c.ID, why)
			continue
		}
		r.Passed = append(r.Passed, c.ID)
	}
	return r
}

// Summary returns "TestOps: N passed, N failed".
func (r *Report) Summary() string {
	return fmt.Sprintf("%s: %d passed, %d failed", r.Name, len(r.Passed), len(r.Failed))
}

// runTiers returns the reason, on one line, for which c fails; empty if it passes.
func runTiers(c Case, env Env, tiers []device.Tier) string {
	for _, t := range tiers {
		before := device.LimitTier(t)
		err := runCase(c, env)
		device.LimitTier(before)
		if err == nil {
			continue
		}
		why := strings.Join(strings.Fields(err.Error()), " ")
		if len(tiers) > 1 {
			why = "tier " + t.String() + ": " + why
		}
		return why
	}
	return ""
}

// runCase runs c and converts a panic to an error with its file and line.
func runCase(c Case, env Env) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v%s", r, panicSite(string(debug.Stack())))
		}
	}()
	return c.Run(env)
}

// panicSite finds the file and line that panicked in a stack trace.
func panicSite(stack string) string {
	_, after, ok := strings.Cut(stack, "panic(")
	if !ok {
		return ""
	}
	for line := range strings.SplitSeq(after, "\n") {
		line = strings.TrimSpace(line)
		file, _, _ := strings.Cut(line, " +0x")
		if strings.Contains(file, ".go:") && !strings.Contains("/"+file, "/runtime/") {
			return " at " + filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
		}
	}
	return ""
}

// Known is the list of cases that are known to fail.
type Known struct {
	path string
	ids  []string
}

// ReadKnown reads the list of one test; a missing file is an empty list.
func ReadKnown(path string) (*Known, error) {
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("conformance: %w", err)
	}
	k := &Known{path: path}
	for line := range strings.Lines(string(data)) {
		if id := strings.TrimSpace(line); id != "" {
			k.ids = append(k.ids, id)
		}
	}
	return k, nil
}

// Check returns the differences from the list: cases that fail but are not listed, and listed cases
// that pass.
func (k *Known) Check(r *Report) []string {
	var wrong []string
	for _, id := range r.Failed {
		if !slices.Contains(k.ids, id) {
			wrong = append(wrong, id+": fails and is not in "+k.path)
		}
	}
	for _, id := range r.Passed {
		if slices.Contains(k.ids, id) {
			wrong = append(wrong, id+": passes, remove it from "+k.path)
		}
	}
	return wrong
}

// Rewrite replaces the list with the failures in r; ids that r does not have are kept.
func (k *Known) Rewrite(r *Report) error {
	ids := slices.Clone(r.Failed)
	for _, id := range k.ids {
		if !slices.Contains(r.Failed, id) && !slices.Contains(r.Passed, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	text := ""
	if len(ids) > 0 {
		text = strings.Join(slices.Compact(ids), "\n") + "\n"
	}
	if err := os.WriteFile(k.path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("conformance: %w", err)
	}
	return nil
}
