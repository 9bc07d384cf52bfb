package symbol_test

import (
	"testing"

	sym "gomx/symbol"
)

// numpyFile is a file of MXNet 1.9.1 under set_np_shape(True): a scalar plus an array of no
// elements.
const numpyFile = `{
  "nodes": [
    {
      "op": "_ones", 
      "name": "one", 
      "attrs": {"shape": "()"}, 
      "inputs": []
    }, 
    {
      "op": "_zeros", 
      "name": "none", 
      "attrs": {"shape": "(5, 0)"}, 
      "inputs": []
    }
  ], 
  "arg_nodes": [], 
  "node_row_ptr": [0, 1, 2], 
  "heads": [[0, 0, 0], [1, 0, 0]], 
  "attrs": {
    "is_np_shape": ["int", 1], 
    "mxnet_version": ["int", 10901]
  }
}`

// TestNumpyShapesOfFiles: what a file says about shapes holds for the operators that make arrays,
// also after writing and reading it again.
func TestNumpyShapesOfFiles(t *testing.T) {
	text := numpyFile
	for range 2 {
		s, err := sym.Load([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		ex, err := s.SimpleBind(sym.BindConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if err := ex.Forward(false); err != nil {
			t.Fatal(err)
		}
		out := ex.Outputs()
		if one, err := out[0].Item(); err != nil || len(out[0].Shape()) != 0 || one != 1 {
			t.Errorf("got %v, %v, want the scalar 1", out[0], err)
		}
		if none := out[1].Shape(); len(none) != 2 || none[0] != 5 || none[1] != 0 {
			t.Errorf("got shape %v, want (5, 0)", none)
		}
		again, err := s.JSON()
		if err != nil {
			t.Fatal(err)
		}
		text = string(again)
	}
}
