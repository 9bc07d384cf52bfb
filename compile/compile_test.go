package compile_test

import (
	"testing"
	"time"

	"gomx/dtype"
	"gomx/internal/nettest"
	"gomx/op"
	sym "gomx/symbol"
)

// BenchmarkBindResNet50 measures inference of shapes, the gradient, all passes, preparing the
// kernels and planning the memory, for training and for inference.
func BenchmarkBindResNet50(b *testing.B) {
	for _, train := range []bool{true, false} {
		b.Run(map[bool]string{true: "train", false: "infer"}[train], func(b *testing.B) {
			s := nettest.ResNet(3, 4, 6, 3)
			c := sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {8, 3, 224, 224}},
				GradReq: map[string]op.Req{"data": op.ReqNull, "softmax_label": op.ReqNull}}
			if !train {
				c.DefaultReq = op.ReqNull
			}
			for b.Loop() {
				ex, err := s.SimpleBind(c)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := ex.MemoryUse(train); err != nil {
					b.Fatal(err)
				}
				for _, a := range ex.Args {
					a.Close()
				}
				for _, a := range ex.Grads {
					a.Close()
				}
				ex.Close()
			}
		})
	}
}

// TestBindIsQuick binds ResNet-50 for training. It takes 0.05 s where nothing else runs; the bound
// is for machines that are slow and busy.
func TestBindIsQuick(t *testing.T) {
	start := time.Now()
	ex, err := nettest.ResNet(3, 4, 6, 3).SimpleBind(
		sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {2, 3, 64, 64}},
			GradReq: map[string]op.Req{"data": op.ReqNull, "softmax_label": op.ReqNull}})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	if _, err := ex.MemoryUse(true); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	if t.Logf("bound in %v", took); took > 30*time.Second {
		t.Errorf("binding took %v, want at most 1 s on a quiet machine", took)
	}
}
