package conformance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gomx/device"
	"gomx/internal/conformance"
	"gomx/op"
)

// TestNarrow runs MXNet's cases of operators in bfloat16. Operators without such cases must be in
// testdata/narrow.txt with a reason; -golden checks that the list has no others.
func TestNarrow(t *testing.T) {
	env, tiers := environment(t)
	if env.Device.Kind != device.KindCPU {
		t.Skip("bfloat16 on GPUs is compared by op/.../cuda_test.go")
	}
	cases, served, refused, err := conformance.NarrowCases(env.Golden)
	if err != nil {
		t.Fatal(err)
	}
	report := conformance.Run(os.Stdout, t.Name(), cases, env, tiers)
	fmt.Println(report.Summary())
	if len(report.Failed) > 0 || len(report.Passed) == 0 {
		t.Errorf("failing cases: %v", report.Failed)
	}
	listed := narrowReasons(t)
	for name, why := range refused {
		if listed[name] == "" {
			t.Errorf("%s has no case in bfloat16 and no reason in testdata/narrow.txt: %s", name, why)
		}
	}
	for name := range served {
		if listed[name] != "" {
			t.Errorf("%s is in testdata/narrow.txt and has cases in bfloat16", name)
		}
	}
	if *goldenFlag == "" {
		return
	}
	for _, o := range op.All() { // gradients and helpers of passes are parts of other cases
		if !o.Hidden && !served[o.Name] && listed[o.Name] == "" {
			t.Errorf("%s has no case in bfloat16 and no reason in testdata/narrow.txt", o.Name)
		}
	}
}

// narrowReasons reads the operators without cases in bfloat16.
func narrowReasons(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "narrow.txt"))
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, why, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || op.Lookup(name) == nil || list[name] != "" {
			t.Fatalf("testdata/narrow.txt: %q, want the name of an operator once, a colon and a "+
				"reason", line)
		}
		list[name] = why
	}
	return list
}
