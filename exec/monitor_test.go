package exec_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"gomx/dtype"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// seen collects what a monitor is shown.
type seen struct {
	mu    sync.Mutex
	norms map[string]float64
}

func (s *seen) call(o sym.Observation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.norms[o.Name] = o.Norm()
	return nil
}

func TestMonitorSeesInnerValues(t *testing.T) {
	ex := bindMLP(t, sym.BindConfig{})
	nettest.Step(t, ex)
	want := nettest.Values(t, ex.Grads["fc1_weight"])
	s := &seen{norms: map[string]float64{}}
	ex.SetMonitor(&sym.Monitor{Pattern: regexp.MustCompile(`^fc`), Call: s.call})
	nettest.Step(t, ex)
	nettest.Compare(t, "gradient with a monitor", nettest.Values(t, ex.Grads["fc1_weight"]), want)
	ex.SetMonitor(nil)
	for _, name := range []string{"fc1_output", "fc2_output"} {
		if s.norms[name] <= 0 {
			t.Errorf("norm of %s: got %v, want a number above zero", name, s.norms[name])
		}
	}
	for name := range s.norms {
		if !strings.HasPrefix(name, "fc") {
			t.Errorf("saw %s, which the pattern leaves out", name)
		}
	}
	count := len(s.norms)
	nettest.Step(t, ex)
	if err := ex.Outputs()[0].Wait(context.Background()); err != nil || len(s.norms) != count {
		t.Errorf("the monitor that was taken away has seen more, or %v", err)
	}
}

// TestMonitorSeesWhatFusionHides looks at a batch norm that inference folds away otherwise.
func TestMonitorSeesWhatFusionHides(t *testing.T) {
	s := &seen{norms: map[string]float64{}}
	ex, err := nettest.DropoutNet(2).SimpleBind(
		sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {2, 8, 6, 6}},
			Monitor: &sym.Monitor{Call: s.call}})
	if err != nil {
		t.Fatal(err)
	}
	ex.Args["data"].Set(nd.Ones(ex.Args["data"].Shape()))
	if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	if err := ex.Outputs()[0].Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"conv0_output", "bn0_output", "softmax_output"} {
		if _, ok := s.norms[name]; !ok {
			t.Errorf("%s was not seen", name)
		}
	}
}

func TestMonitorEndsARun(t *testing.T) {
	ex := bindMLP(t, sym.BindConfig{Monitor: &sym.Monitor{Call: func(o sym.Observation) error {
		if slices.Contains([]string{"fc2_output"}, o.Name) {
			return errors.New("seen enough")
		}
		return nil
	}}})
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	err := ex.Outputs()[0].Wait(context.Background())
	if err == nil || !strings.Contains(err.Error(), "fc2") ||
		!strings.Contains(err.Error(), "seen enough") {
		t.Errorf("got %v, want the monitor's error with the operator", err)
	}
	if err := nd.WaitAll(context.Background()); err == nil {
		t.Error("WaitAll says nothing of the failed run")
	}
}
