package compile_test

import (
	"slices"
	"testing"

	"gomx/compile"
)

// TestStagesKeepTheirConstraints demands that each stage stands where its constraints allow, has a
// reason and a name of its own, and that constraints name stages.
func TestStagesKeepTheirConstraints(t *testing.T) {
	stages := compile.Stages()
	at := map[string]int{}
	for i, s := range stages {
		if _, twice := at[s.Name]; twice || s.Name == "" || s.Reason == "" {
			t.Errorf("stage %d %q: want a name of its own and a reason", i, s.Name)
		}
		at[s.Name] = i
	}
	for i, s := range stages {
		if len(s.Before)+len(s.After) == 0 {
			t.Errorf("stage %q has no constraints", s.Name)
		}
		for _, name := range s.Before {
			if j, ok := at[name]; !ok || j <= i {
				t.Errorf("stage %q runs at %d, want it before %q at %d (a stage: %v)", s.Name, i,
					name, j, ok)
			}
		}
		for _, name := range s.After {
			if j, ok := at[name]; !ok || j >= i {
				t.Errorf("stage %q runs at %d, want it after %q at %d (a stage: %v)", s.Name, i,
					name, j, ok)
			}
		}
	}
}

// TestPassesAreStages demands that passes are what rewrites graphs, in the order of the table.
func TestPassesAreStages(t *testing.T) {
	var names []string
	for _, s := range compile.Stages() {
		if s.Pass {
			names = append(names, s.Name)
		}
	}
	var passes []string
	for _, s := range compile.Passes() {
		passes = append(passes, s.Name)
	}
	if !slices.Equal(passes, names) || len(names) < 20 {
		t.Errorf("got passes %v, want %v", passes, names)
	}
	if err := compile.CheckNames(passes); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{"gradient", "no-such-stage"} {
		if err := compile.CheckNames([]string{wrong}); err == nil {
			t.Errorf("%q may be left out, want an error", wrong)
		}
	}
}
