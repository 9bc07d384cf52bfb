package conformance_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"gomx/device"
	"gomx/internal/conformance"
)

// TestSelection checks that the committed selection is complete: every case finds its files and
// arrays. With -select it writes the selection first.
func TestSelection(t *testing.T) {
	dir := filepath.Join("testdata", "golden")
	if *selectFlag {
		env, _ := environment(t)
		if err := conformance.Select(env.Golden, dir); err != nil {
			t.Fatal(err)
		}
	}
	g, err := conformance.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, load := range []func(*conformance.Golden) ([]conformance.Case, error){
		conformance.OpCases, conformance.FormatCases, conformance.ModelCases, conformance.CellCases,
		conformance.PlanCases, conformance.OptimCases, conformance.TrainCases,
		conformance.RestCases, conformance.GluonCases, conformance.ControlCases,
		conformance.SparseCases,
	} {
		cases, err := load(g)
		if err != nil {
			t.Fatal(err)
		}
		if len(cases) == 0 {
			t.Error("no cases")
		}
		var out bytes.Buffer
		conformance.Run(&out, t.Name(), cases, conformance.Env{Golden: g},
			[]device.Tier{device.TierC})
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, "golden array") || strings.Contains(line, "no such file") {
				t.Error(line)
			}
		}
	}
}
