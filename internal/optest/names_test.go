package optest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gomx/op"
)

// outside are the operators of MXNet that gomx has not: patterns of names, and the reason.
var outside = []struct{ pattern, reason string }{
	{`_npi?_.*|_npx_.*|_np_.*`, "MXNet's NumPy interface"},
	{`.*backward.*`, "gradients, which MXNet registers under names of their own"},
	{`_contrib_dgl_.*|_contrib_edge_id`, "graphs in sparse matrices, of the library DGL"},
	{`_scatter_set_nd`,
		"sparse arrays"},
	{`_CachedOp|_CachedOpThreadSafe|_NoGradient|_copyto|_set_value|_sg_mkldnn_.*`,
		"parts of MXNet's own machinery, which never stand in a file that users write"},
	{`_Native|_NDArray|Custom`, "operators whose bodies are code of a Python program; in Go, op.Declare"},
	{`_cv.*|_imdecode`, "OpenCV's functions for pictures; package io/image has them"},
	{`Correlation|_contrib_boolean_mask|_image_.*`, "operators of pictures and masks that follow"},
}

// TestOperatorsOfMXNet goes through the names that MXNet 1.9.1 registers: each is an operator or an
// alias here, or there is a reason for its absence.
func TestOperatorsOfMXNet(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "mxnet-1.9.1-operators.txt"))
	if err != nil {
		t.Fatal(err)
	}
	used := make([]int, len(outside))
	here := 0
	for line := range strings.Lines(string(text)) {
		name, canonical, _ := strings.Cut(strings.TrimSpace(line), " ")
		o := op.Lookup(name)
		if o != nil {
			here++
			if c := op.Lookup(canonical); canonical != "" && c != o {
				t.Errorf("%s is not the operator of its other name %s", name, canonical)
			}
			continue
		}
		found := false
		for i, g := range outside {
			if regexp.MustCompile("^(" + g.pattern + ")$").MatchString(name) {
				used[i]++
				found = true
				break
			}
		}
		if !found {
			t.Errorf("%s is no operator, and there is no reason for its absence", name)
		}
	}
	for i, g := range outside {
		t.Logf("%d names: %s", used[i], g.reason)
	}
	t.Logf("%d names are operators", here)
}
