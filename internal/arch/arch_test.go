package arch_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestRepository(t *testing.T) {
	root := os.DirFS("../..")
	files, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("%d Go files found: is this the repository?", len(files))
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, fault := range r.check(files) {
				t.Error(fault)
			}
		})
	}
}

func TestDocumentHasTheList(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "```\n"+layers+"```\n") {
		t.Errorf("docs/architecture.md does not contain the layer list as layers_test.go has "+
			"it:\n%s", layers)
	}
}

func TestLayersParse(t *testing.T) {
	o := parseLayers(layers)
	lines := strings.Count(layers, "\n")
	for pkg, want := range map[string]int{
		"dtype": 1, "device": 2, "engine/core": 3, "engine": 4, "memplan": 3, "kvstore/wire": 3,
		"kvstore/transport": 5, "device/cuda": 6, "device/cpu/narrow": 7,
		"kvstore/transport/shm": 8, "gluon/estimator": lines - 1, "module": lines - 3, "cmd/gomx": lines, "internal/arch": lines,
		"examples/mnist": lines, ".": lines,
		"registry": 0, "imperative": 0, "op/nn/deep": 0,
	} {
		if got := o.of(pkg); got != want {
			t.Errorf("%s is on line %d, want %d", pkg, got, want)
		}
	}
}

func TestForbidden(t *testing.T) {
	o := parseLayers(layers)
	tests := []struct {
		from, to string
		want     string // part of the reason, "" when allowed
	}{
		{"symbol", "ndarray", ""},
		{"ndarray", "symbol", "line above"},
		{"symbol", "optimizer", "same line"},
		{"engine", "engine/core", ""},
		{"engine/core", "memplan", "same line"},
		{"engine", "enginex", "not in the layer list"},
		{"cmd/gomx", "internal/bench", ""},
		{"cmd/gomx", "cmd/gomx/launch", ""},
		{"cmd/gomx", "internal/optest", "tests only"},
		{"examples/mnist", "internal/plot", ""},
		{"examples/mnist", "examples/digits", "same line"},
		{"internal/plot", "cmd/gomx", "same line"},
		{"internal/plot", "internal/bench", "same line"},
		{"internal/shape", "internal/shape/measure", ""},
		{"internal/shape/measure", "internal/shape", "same line"},
		{"internal/conformance", "internal/optest", ""},
		{"internal/bench", "internal/optest", "tests only"},
		{"module", "internal/plot", "line above"},
	}
	for _, tt := range tests {
		got := o.forbidden(tt.from, tt.to)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s importing %s: got %q, want %q", tt.from, tt.to, got, tt.want)
		}
	}
}

// TestRulesBite breaks every rule once in a tree made for it.
func TestRulesBite(t *testing.T) {
	goFile := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	tests := []struct {
		rule, file, text string
		want             string // part of the fault, "" when the file is fine
	}{
		{"imports point down", "dtype/a.go", "package dtype\nimport \"gomx/device\"\n",
			"dtype/a.go imports gomx/device: device is on a line above"},
		{"imports point down", "dtype/a_test.go", "package dtype\nimport \"gomx/device\"\n", ""},
		{"imports point down", "device/a.go",
			"//go:build cuda && never\n\npackage device\nimport d \"gomx/engine\"\n",
			"engine is on a line above"},
		{"imports point down", "helpers/a.go", "package helpers\n",
			"package helpers is not in the layer list"},
		{"imports point down", "device/testdata/a.go", "package x\nimport \"gomx/cmd\"\n", ""},
		{"C, ZeroMQ, CUDA, gorgonia and the clients of monitors stay in their corners", "op/a.go",
			"package op\nimport \"C\"\n", `op/a.go imports "C"`},
		{"C, ZeroMQ, CUDA, gorgonia and the clients of monitors stay in their corners", "device/cpu/a.go",
			"package cpu\nimport \"C\"\n", ""},
		{"C, ZeroMQ, CUDA, gorgonia and the clients of monitors stay in their corners", "kvstore/a_test.go",
			"package kvstore\nimport _ \"github.com/zeromq/goczmq/v4\"\n",
			"kvstore/transport/zmq only"},
		{"C, ZeroMQ, CUDA, gorgonia and the clients of monitors stay in their corners", "device/cuda/a.go",
			"package cuda\nimport \"gorgonia.org/cu/dnn\"\n", ""},
		{"C, ZeroMQ, CUDA, gorgonia and the clients of monitors stay in their corners", "device/cuda/a.go",
			"package cuda\nimport \"gorgonia.org/tensor\"\n", "interop only"},
		{"C, ZeroMQ, CUDA, gorgonia and the clients of monitors stay in their corners", "kvstore/a.go",
			"package kvstore\nimport \"go.opentelemetry.io/otel/trace\"\n", "monitor only"},
		{"the environment is read in cmd and launch", "io/a.go",
			"package io\nimport \"os\"\nvar x = os.Getenv(\"X\")\n", "io/a.go uses os.Getenv"},
		{"the environment is read in cmd and launch", "io/a.go",
			"package io\n// os.Getenv is not used here.\n", ""},
		{"the environment is read in cmd and launch", "launch/a.go",
			"package launch\nimport \"os\"\nvar x, _ = os.LookupEnv(\"X\")\n", ""},
		{"no file is longer than 800 lines", "io/a.go", "package io\n" + strings.Repeat("\n", 800),
			"io/a.go has 801 lines"},
		{"no file is longer than 800 lines", "io/a_gen.go", "package io\n" + strings.Repeat("\n",
			800), ""},
		{"generated files say so", "io/a_gen.go", "package io\n",
			"io/a_gen.go: the name says generated=true"},
		{"generated files say so", "io/a.go",
			"// Code generated by opgen. DO NOT EDIT.\n\npackage io\n",
			"io/a.go: the name says generated=false"},
		{"every package introduces itself in doc.go", "io/a.go",
			"// Package io reads.\npackage io\n", "io has no doc.go"},
		{"every package introduces itself in doc.go", "io/doc.go", "package io\n",
			"io has no doc.go"},
		{"every package introduces itself in doc.go", "cmd/x/main.go",
			"// Command x is one.\npackage main\n", ""},
		{"every package introduces itself in doc.go", "io/a_test.go", "package io_test\n", ""},
		{"pure cores are pure", "memplan/a.go", "package memplan\nimport \"sync/atomic\"\n",
			`memplan/a.go imports "sync/atomic"`},
		{"pure cores are pure", "engine/core/a.go", "package core\nimport \"time\"\n",
			"engine/core/a.go imports"},
		{"pure cores are pure", "engine/pool.go", "package engine\nimport \"time\"\n", ""},
		{"pure cores are pure", "kvstore/ps/a.go", "package ps\nfunc f() { go f() }\n",
			"goroutines"},
		{"pure cores are pure", "kvstore/ps/a.go", "package ps\nfunc f(c chan int) { <-c }\n",
			"channels"},
		{"pure cores are pure", "kvstore/ps/a.go", "package ps\ntype t struct{ c chan int }\n", ""},
		{"pure cores are pure", "memplan/a.go",
			"package memplan\ntype t struct{ m interface{ Lock() } }\nfunc (x t) f() { " +
				"x.m.Lock() }\n", ""},
		{"pure cores are pure", "kvstore/ps/a_test.go", "package ps\nimport \"time\"\n", ""},
		{"pure cores are pure", "compile/a.go", "package compile\nimport \"sync\"\n",
			`compile/a.go imports "sync"`},
		{"imports point down", "compile/a.go", "package compile\nimport \"gomx/ndarray\"\n",
			"line above"},
		{"compiling knows no engine and no driver", "compile/a.go",
			"package compile\nimport \"gomx/engine\"\n", "compile/a.go imports gomx/engine"},
		{"compiling knows no engine and no driver", "compile/a.go",
			"package compile\nimport _ \"gomx/device/cpu\"\n",
			"compile/a.go imports gomx/device/cpu"},
		{"compiling knows no engine and no driver", "compile/a.go",
			"package compile\nimport \"gomx/device\"\n", ""},
		{"compiling knows no engine and no driver", "compile/a_test.go",
			"package compile_test\nimport \"gomx/engine\"\n", ""},
		{"operators are named as text in op only", "graph/a.go",
			"package graph\nvar s = `sum prod mean norm dot tanh`\n",
			"names the operator sum"},
		{"operators are named as text in op only", "graph/a.go",
			"package graph\nvar s = `the sum and the mean of a dot`\n",
			""},
		{"operators are named as text in op only", "symbol/a.go",
			"package symbol\nvar s = \"_copy\"\n",
			"names the operator _copy"},
		{"operators are named as text in op only", "symbol/a.go",
			"package symbol\nvar s = n + \"_copy\"\n",
			""},
		{"operators are named as text in op only", "symbol/a.go",
			"package symbol\nvar s = n.Op.Name == \"dot\"\n",
			"names the operator dot"},
		{"operators are named as text in op only", "symbol/a.go",
			"package symbol\nvar s = n.Layer == \"dot\"\n",
			""},
		{"operators are named as text in op only", "graph/a.go",
			"package graph\nfunc f() { switch n.Op.Name { case \"relu\": } }\n",
			"names the operator relu"},
		{"operators are named as text in op only", "graph/a.go",
			"package graph\nvar o = op.Lookup(\"dot\")\n",
			"names the operator dot"},
		{"operators are named as text in op only", "ndarray/a.go",
			"package ndarray\nvar o = op.Declare[p](\"_copy\")\n",
			""},
		{"operators are named as text in op only", "interop/onnx/a.go",
			"package onnx\nvar s = \"_copy\"\n",
			""},
		{"operators are named as text in op only", "op/nn/a.go", "package nn\nvar s = \"_copy\"\n",
			""},
		{"operators are named as text in op only", "graph/a_test.go",
			"package graph\nvar s = \"_copy\"\n",
			""},
	}
	for _, tt := range tests {
		files, err := read(fstest.MapFS{tt.file: goFile(tt.text)})
		if err != nil {
			t.Errorf("%s: %v", tt.file, err)
			continue
		}
		i := slices.IndexFunc(rules, func(r rule) bool { return r.name == tt.rule })
		if i < 0 {
			t.Errorf("there is no rule %q", tt.rule)
			continue
		}
		faults := strings.Join(rules[i].check(files), "\n")
		if (faults == "") != (tt.want == "") || !strings.Contains(faults, tt.want) {
			t.Errorf("%s, %s: got %q, want %q", tt.rule, tt.file, faults, tt.want)
		}
	}
}

// TestPureCoresSeeTypes breaks the rule of pure cores where only types show it: an atomic behind a
// field, and a method of another file that acts.
func TestPureCoresSeeTypes(t *testing.T) {
	tests := []struct{ pure, other, want string }{
		{"func f(v *v) { v.n.Load() }", "",
			"core.f acts but is of a pure core: calls (*sync/atomic.Uint64).Load"},
		{"func f(v *v) { v.g() }", "func (v *v) g() { v.h() }\nfunc (v *v) h() { v.n.Add(1) }",
			"core.v.g, which core.v.h, which (*sync/atomic.Uint64).Add"},
		{"func f(v *v) { v.g() }", "func (v *v) g() { v.mu.Lock() }", "(*sync.Mutex).Lock"},
		{"func f(v *v) { v.g() }", "func (v *v) g() { v.c <- 1 }", "uses goroutines or channels"},
		{"func f() { after() }", "func after() { time.Now() }", "time.Now"},
	}
	for _, tt := range tests {
		files, err := read(fstest.MapFS{
			"engine/core/issue.go": {Data: []byte("package core\n" + tt.pure + "\n")},
			"engine/core/var.go": {Data: []byte(
				"package core\nimport (\"sync\"; \"sync/atomic\"; \"time\"; _ \"gomx/device\")\n" +
					"type v struct{ n atomic.Uint64; mu sync.Mutex; c chan int; x int; t " +
					"time.Time " +
					"}\n" + tt.other + "\n")},
		})
		if err != nil {
			t.Fatal(err)
		}
		faults := strings.Join(pureCores(files), "\n")
		if (faults == "") != (tt.want == "") || !strings.Contains(faults, tt.want) {
			t.Errorf("%s with %s: got %q, want %q", tt.pure, tt.other, faults, tt.want)
		}
	}
}

func TestNestedModulesAreApart(t *testing.T) {
	files, err := read(fstest.MapFS{
		"interop/gorgonia/go.mod": {Data: []byte("module gomx/interop/gorgonia\n")},
		"interop/gorgonia/a.go": {Data: []byte(
			"package gorgonia\nimport \"gorgonia.org/tensor\"\nimport \"gomx/symbol\"\n")},
		"interop/gorgonia/sub/b.go": {Data: []byte("package sub\nimport \"gomx/symbol\"\n")},
		"io/a.go":                   {Data: []byte("package io\nimport \"gomx/symbol\"\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if faults := importsPointDown(files); len(faults) != 1 ||
		!strings.HasPrefix(faults[0], "io/a.go") {
		t.Errorf("got %q, want one fault of io/a.go", faults)
	}
	if faults := foreignCorners(files); len(faults) != 0 {
		t.Errorf("got %q, want none", faults)
	}
}
