package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gomx/device"
	"gomx/op"
)

func TestGeneratedIsFresh(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	files, err := Generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is out of date: run go generate ./ndarray", name)
		}
	}
}

// A family that is not imported would have no functions.
func TestEveryFamilyIsImported(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob(filepath.Join(root, "op", "*"))
	if err != nil {
		t.Fatal(err)
	}
	families, err := sources.ReadFile("families.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		sources, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		declares := slices.ContainsFunc(sources, func(path string) bool {
			src, err := os.ReadFile(path)
			return err == nil && !strings.HasSuffix(path, "_test.go") && bytes.Contains(src, []byte("= op.Declare["))
		})
		if declares && !bytes.Contains(families, []byte(`"gomx/op/`+filepath.Base(dir)+`"`)) {
			t.Errorf("families.go does not import gomx/op/%s", filepath.Base(dir))
		}
	}
}

func TestInputsOfAllVariants(t *testing.T) {
	type params struct {
		NoBias bool   `op:"no_bias" doc:"no bias"`
		Masked bool   `op:"masked" doc:"mask of b"`
		Mode   string `op:"mode" default:"a" enum:"a|b" doc:"mode"`
	}
	h := op.Declare[params]("test_inputs")
	h.Define(op.Spec[params]{
		Traits: op.Traits{Doc: "test", NoGrad: "test"},
		Infer:  op.SameShape[params],
		Ref:    func(params, *op.Call) error { return nil },
		Inputs: func(p params) []op.Input {
			in := []op.Input{{Name: "data"}, {Name: "moving_mean", Role: op.Aux}}
			if !p.NoBias {
				in = append(in, op.Input{Name: "type", Role: op.Param})
			}
			if p.Mode == "b" {
				in = append(in, op.Input{Name: "length"})
			}
			if p.Mode == "b" && p.Masked {
				in = append(in, op.Input{Name: "mask"})
			}
			return in
		},
	})
	list, varies := inputs(h.Op)
	f := function{Op: h.Op, Inputs: list, Params: "P"}
	if got, want := f.Signature("*A", false), "data, movingMean, typeIn *A, p P"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := f.Signature("*A", true), "data *A, p P"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := f.Slots(), "data, movingMean, typeIn, nil, nil"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := f.OptionalNames(), "length, mask"; got != want {
		t.Errorf("got %q given by With, want %q", got, want)
	}
	if !varies {
		t.Error("inputs that parameters switch on or off are not noticed")
	}
}

func TestKernelsAreFoundWhateverTheTags(t *testing.T) {
	dir := t.TempDir()
	write := func(name, src string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.go", "package a\nvar A, B = op.Declare[P](\"a\"), op.Declare[P](\"b\")\nvar C, D = op.Declare[P](\"c\"), op.Declare[P](\"d\")\n")
	write("a_cuda.go", "//go:build cuda\npackage a\nfunc init() { A.Kernel(device.KindCUDA, device.TierRef, f) }\n")
	write("a_cpu.go", "//go:build cgo\npackage a\nfunc init() { for _, h := range []H{B, C} { attach.TierC(h, cpu.D) } }\n")
	got, err := findKernels(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := kernelTable{"a": {"cuda": true}, "b": {"cpu, c": true}, "c": {"cpu, c": true}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What the documentation says of this build's kernels is so.
func TestKernelTableIsTrue(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	table, err := findKernels(filepath.Join(root, "op"))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range op.All() {
		if got, want := table[o.Name]["cpu, go"], o.HasKernel(device.KindCPU, device.TierGo); got != want {
			t.Errorf("%s: go kernel documented %v, attached %v", o.Name, got, want)
		}
		if got, want := table[o.Name]["cpu, c"], o.HasKernel(device.KindCPU, device.TierC); cgo && got != want {
			t.Errorf("%s: c kernel documented %v, attached %v", o.Name, got, want)
		}
	}
}

// An alias shows its fields where go doc looks: in its comment.
func TestAliasesShowFields(t *testing.T) {
	m, err := newModel()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range m.Aliases {
		text := joined(a)
		for _, p := range a.Params {
			if !strings.Contains(text, "  - "+p.Field+" ") || p.Doc == "" {
				t.Errorf("%s: field %s is not described in %q", a.Name, p.Field, text)
			}
		}
	}
	i := slices.IndexFunc(m.Aliases, func(a alias) bool { return a.Name == "DropoutParams" })
	got := joined(m.Aliases[i])
	for _, want := range []string{
		"  - P Opt[float64]: share of elements that are dropped; 0 to 1; 0.5 by default",
		"  - Mode string: drop in training only, or always; one of training, always, training by default",
		"Fields of type Opt are set by [Some]: DropoutParams{P: nd.Some(0.5)}.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant in it %q", got, want)
		}
	}
}

// joined returns the documentation of an alias with a line for each item.
func joined(a alias) string {
	return strings.ReplaceAll(strings.Join(a.Doc("nd"), "\n"), "\n    ", " ")
}
