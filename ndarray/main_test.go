package ndarray_test

import (
	"fmt"
	"os"
	"testing"

	"gomx/engine"
)

// callSites says whether the engine notes the lines of pushes.
var callSites bool

// TestMain runs all tests on an engine that runs everything at once, where a stack leads from a
// failure to its cause, and on the one that programs use.
func TestMain(m *testing.M) {
	code := 0
	for _, cfg := range []engine.Config{{Naive: true, CallSites: true}, {Workers: 2}} {
		e, err := engine.New(cfg)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		engine.SetDefault(e)
		callSites = cfg.CallSites
		code = max(code, m.Run())
	}
	os.Exit(code)
}
