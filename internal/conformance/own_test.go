package conformance_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gomx/device"
	"gomx/internal/conformance"
)

// own are the cases that testdata/own/make.py wrote with MXNet: of the formats of the golden data,
// but such as those have none of.
var own = []struct {
	folder string
	load   func(*conformance.Golden) ([]conformance.Case, error)
	want   []string // the cases; nil: they are many
}{
	{"train", conformance.TrainCases, []string{"train/dense-rescale", "train/dense-adam-rescale",
		"train/autoencoder", "train/steps_first",
		"train/own_loss", "dist/module.dense", "dist/module.rescale"}},
	{"models", conformance.ModelCases, []string{"dense-inference"}},
	{"formats", conformance.FormatCases, []string{"checkpoint/adam-0003.params",
		"checkpoint/sgd-0003.params"}},
	{"gluon/data", conformance.DataCases, nil}, // of make_data.py
	{"sparse", conformance.LibSVMCases, nil},   // of make_libsvm.py
}

func TestOwnCases(t *testing.T) {
	g, err := conformance.Open(filepath.Join("testdata", "own"))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, o := range own {
		cases, err := o.load(g)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		r := conformance.Run(&out, t.Name(), cases, conformance.Env{Golden: g},
			[]device.Tier{device.TierC})
		if len(r.Failed) > 0 || len(r.Passed) == 0 || o.want != nil &&
			strings.Join(r.Passed, " ") != strings.Join(o.want, " ") {
			t.Errorf("%s: passed %v, want %v\n%s", o.folder, r.Passed, o.want, out.String())
		}
	}
}

// indexes are the JSON files of cases with the functions that read them.
var indexes = map[string]func(*conformance.Golden) ([]conformance.Case, error){
	"ops/cases.json": conformance.OpCases, "formats/formats.json": conformance.FormatCases,
	"models/cases.json":    conformance.ModelCases,
	"memplan/memplan.json": conformance.PlanCases, "optim/optimizers.json": conformance.OptimCases,
	"optim/update_ops.json":   conformance.OptimCases,
	"optim/lr_schedules.json": conformance.OptimCases, "optim/metrics.json": conformance.OptimCases,
	"optim/compression.json": conformance.OptimCases,
	"rest/cases.json":        conformance.RestCases, "rest/imperative.json": conformance.RestCases,
	"train/train.json": conformance.TrainCases, "train/dist.json": conformance.TrainCases,
}

// TestUnknownFieldsAreErrors adds a field to each object of a case in turn, which must not be
// passed over.
func TestUnknownFieldsAreErrors(t *testing.T) {
	for name, load := range indexes {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "golden"))); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			var index map[string]any
			if err := json.Unmarshal(text, &index); err != nil {
				t.Fatal(err)
			}
			tried := map[string]bool{} // places
			for _, c := range append(index["cases"].([]any), index) {
				kind, _ := c.(map[string]any)["kind"].(string)
				eachRecord(c, kind, func(at string, o map[string]any) {
					if tried[at] {
						return
					}
					tried[at] = true
					o["unheard_of"] = 1
					defer delete(o, "unheard_of")
					if err := loadChanged(t, dir, name, index, load); err == nil ||
						!strings.Contains(err.Error(), `unknown field "unheard_of"`) {
						t.Errorf("a field of %q: got %v, want an error that names it", at, err)
					}
				})
			}
			if err := loadChanged(t, dir, name, index, load); err != nil {
				t.Errorf("the unchanged index: %v", err)
			}
		})
	}
}

// loadChanged writes an index and reads its cases.
func loadChanged(t *testing.T, dir, name string, index map[string]any,
	load func(*conformance.Golden) ([]conformance.Case, error)) error {
	t.Helper()
	text, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := conformance.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	_, err = load(g)
	return err
}

// free are the objects whose fields have names of the case's own: attributes, arrays by name.
var free = map[string]bool{"attrs": true, "optimizer_params": true, "inputs": true,
	"grad_norms": true, "aux_after_train": true,
	"keys": true, "input_shapes": true, "planned_mb": true, "nodes": true, "attr_dict": true,
	"defaults": true, "lr_mult": true, "wd_mult": true,
	"variants": true, "rss": true, "cases": true}

// eachRecord calls f for every object below v that has fields of the format.
func eachRecord(v any, at string, f func(at string, o map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			eachRecord(x, at+"[]", f)
		}
	case map[string]any:
		last := at[strings.LastIndex(at, ".")+1:]
		_, iterator := v["batch_size"]
		if !free[last] && (last != "kwargs" || iterator) {
			f(at, v)
		}
		for key, x := range v {
			if free[last] {
				key = "*"
			}
			if !(last == "attr_dict" || key == "attr_dict" || key == "cases" || key == "variants" ||
				key == "rss") {
				eachRecord(x, at+"."+key, f)
			}
		}
	}
}

// TestCasesThatContradictThemselves changes one field of a case so that it no longer agrees with
// the others.
func TestCasesThatContradictThemselves(t *testing.T) {
	for _, tt := range []struct {
		index, want string
		change      func(c map[string]any)
	}{
		{"ops/cases.json", "grad_req", func(c map[string]any) { c["grad_req"] = "add" }},
		{"ops/cases.json", "names of", func(c map[string]any) {
			c["output_names"] = []string{"a", "b", "c", "d"}
		}},
		{"train/train.json", "losses", func(c map[string]any) { c["steps"] = 19 }},
		{"models/cases.json", "internals", func(c map[string]any) { c["internals"] = 2 }},
		{"optim/lr_schedules.json", "rates for the updates",
			func(c map[string]any) { c["num_update"] = []int{1, 200} }},
		{"optim/compression.json", "devices", func(c map[string]any) { c["devices"] = 7 }},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "golden"))); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, tt.index))
		if err != nil {
			t.Fatal(err)
		}
		var index map[string]any
		if err := json.Unmarshal(text, &index); err != nil {
			t.Fatal(err)
		}
		tt.change(index["cases"].([]any)[0].(map[string]any))
		if err := loadChanged(t, dir, tt.index, index, indexes[tt.index]); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.index, err, tt.want)
		}
	}
}
