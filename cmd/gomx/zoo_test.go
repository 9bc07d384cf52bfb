package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/checkpoint"
)

// TestZoo lists networks, exports one, exports it again from its file, and summarizes it.
func TestZoo(t *testing.T) {
	out, err := gomx(t, "zoo", "list")
	if err != nil || !strings.Contains(out, "mobilenet_v2_1_0") ||
		!strings.Contains(out, "data=1,3,299,299") {
		t.Errorf("list: %v\n%s", err, out)
	}
	var rows []zooRow
	if out, err = gomx(t, "zoo", "list", "--json"); err == nil {
		err = json.Unmarshal([]byte(out), &rows)
	}
	if err != nil || len(rows) < 34 || rows[0].Inputs[0] != "data=1,3,224,224" {
		t.Errorf("list --json: %v\n%s", err, out)
	}
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	for _, args := range []string{
		"zoo export mobilenet0_25 " + first + " --classes 7 --seed 3 --input-shape 1,3,32,32",
		"zoo export MobileNet0.25 " + second + " --classes 7 --params " +
			checkpoint.ParamsPath(first, 0),
	} {
		if out, err := gomx(t, strings.Fields(args)...); err != nil ||
			!strings.Contains(out, "-0000.params") {
			t.Fatalf("%s: %v\n%s", args, err, out)
		}
	}
	third := filepath.Join(dir, "third")
	out, err = gomx(t, "zoo", "export", "mobilenet0_25", third, "--input-shape", "1,3,32,32",
		"--json")
	var files exported
	if err == nil {
		err = json.Unmarshal([]byte(out), &files)
	}
	if err != nil || files.Network != "mobilenet0_25" || files.Symbol != third+"-symbol.json" ||
		files.Params != third+"-0000.params" || !slices.Equal(files.Inputs["data"],
		[]int{1, 3, 32, 32}) {
		t.Errorf("export --json: %v\n%s", err, out)
	}
	var values [2][]float32
	for i, prefix := range []string{first, second} {
		m, err := checkpoint.Load(prefix, 0)
		if err != nil {
			t.Fatal(err)
		}
		if values[i], err = m.Args["mobilenet0_dense0_weight"].Float32s(); err != nil {
			t.Fatal(err)
		}
	}
	if len(values[0]) != 7*256 || len(values[1]) != 7*256 || values[0][9] != values[1][9] ||
		values[0][9] == values[0][10] {
		t.Errorf("weights %v, %v", values[0][:12], values[1][:12])
	}
	out, err = gomx(t, "zoo", "summary", "mobilenet0_25", "--input-shape", "data=2,3,64,64")
	if err != nil || !strings.Contains(out, "475544 parameters") ||
		!strings.Contains(out, "(2, 1000)") {
		t.Errorf("summary: %v\n%s", err, out)
	}
}

// TestZooMistakes: mistakes name what there is.
func TestZooMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"zoo summary resnet18":                           "did you mean resnet18_v1",
		"zoo export xyz x":                               "gomx zoo list",
		"zoo lst":                                        "list",
		"zoo summary vgg11 --input-shape a=1":            `no input "a"`,
		"zoo summary vgg11 --input-shape 1,x":            "--input-shape",
		"zoo summary vgg11 --classes -1":                 "-1 classes",
		"zoo summary mobilenet0_25 --params none.params": "none.params",
	} {
		_, err := gomx(t, strings.Fields(args)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("gomx %s: %v, want %q", args, err, want)
		} else if code := exitCode(err); (code == exitUsage) == strings.Contains(args, "--params") {
			t.Errorf("gomx %s: exit code %d", args, code)
		}
	}
}
