package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sym "gomx/symbol"
)

// smallNet writes the symbol file of a network with two clusters and returns its path.
func smallNet(t *testing.T) string {
	t.Helper()
	net := sym.Var("data")
	for _, stage := range []string{"net_stage1_", "net_stage2_"} {
		s := sym.NewScope(stage)
		net = sym.FullyConnected(net, sym.FullyConnectedParams{NumHidden: 8}, s.Name("fc"))
		net = sym.Activation(net, sym.ActivationParams{ActType: "relu"}, s.Name("relu"))
	}
	text, err := net.JSON()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "small-symbol.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInspectGraph(t *testing.T) {
	path := smallNet(t)
	svg, memory := path+".svg", path+".memory.svg"
	var out strings.Builder
	f := &graphFlags{shapes: []string{"data=4,6"}, train: true, summary: true, explain: true,
		svg: svg, memory: memory}
	if err := f.run(&out, path); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"net_stage2_fc", "72", "128 parameters", "fuse-pointwise",
		"FLOPs"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
	for _, file := range []string{svg, memory} {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), "</svg>") {
			t.Errorf("%s: %.100s, %v", file, text, err)
		}
	}
	text, _ := os.ReadFile(svg)
	for _, want := range []string{">stage1<", ">stage2<", "FullyConnected 8", "(4, 8) 128 B"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("picture lacks %q", want)
		}
	}
	out.Reset()
	f = &graphFlags{shapes: []string{"data=4,6"}, summary: true, output: "json"}
	if err := f.run(&out, path); err != nil ||
		!strings.Contains(out.String(), `"parameters": 128`) {
		t.Errorf("JSON %s, %v", out.String(), err)
	}
}

func TestShapesOfFlags(t *testing.T) {
	for text, want := range map[string]string{"data": "want name=", "data=1,x": `"x"`,
		"=1": "want name=", "data=-1": `"-1"`} {
		if _, err := parseShapes([]string{text}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error that mentions %q", text, err, want)
		}
	}
	shapes, err := parseShapes([]string{"data=1, 3,224", "label=(7)"})
	if err != nil || shapes["data"].String() != "(1, 3, 224)" ||
		shapes["label"].String() != "(7,)" {
		t.Errorf("got %v, %v", shapes, err)
	}
}

func TestClusters(t *testing.T) {
	for _, tt := range []struct{ names, want []string }{
		{[]string{"data", "conv1", "tanh1"}, []string{"", "", ""}},
		{[]string{"data", "net_stage1_conv0_fwd", "net_stage1_bn0_fwd", "net_pool"},
			[]string{"", "stage1", "stage1", ""}},
		{[]string{"stage1_unit1_conv", "stage1_unit2_conv", "fc"}, []string{"unit1", "unit2", ""}},
		{[]string{"stage1_unit1_conv", "stage2_unit1_conv"}, []string{"stage1_unit1",
			"stage2_unit1"}},
	} {
		if got := clusters(tt.names); !slices.Equal(got, tt.want) {
			t.Errorf("%v: got %v, want %v", tt.names, got, tt.want)
		}
	}
}
