package optest_test

import (
	"strings"
	"testing"

	"gomx/op"
)

// TestEveryOperatorIsExplained asserts that each operator has documentation, unless it is hidden, and either a gradient or
// the reason for having none.
func TestEveryOperatorIsExplained(t *testing.T) {
	for _, o := range op.All() {
		if !o.Hidden && !strings.Contains(o.Doc, ".") {
			t.Errorf("%s: documentation %q, want sentences", o.Name, o.Doc)
		}
		if o.HasGrad() == (o.NoGrad != "") {
			t.Errorf("%s: gradient %v and the reason for none %q, want one of both", o.Name, o.HasGrad(), o.NoGrad)
		}
		if o.Once != "" && !strings.Contains(o.Doc, o.Once) {
			t.Errorf("%s: documentation does not say that the gradient cannot be differentiated: %s", o.Name, o.Once)
		}
	}
}
