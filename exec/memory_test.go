package exec_test

import (
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/nettest"
	sym "gomx/symbol"
)

func TestMemoryPlanOfAnExecutor(t *testing.T) {
	ex := bindMLP(t, sym.BindConfig{})
	m, err := ex.MemoryPlan(true)
	if err != nil {
		t.Fatal(err)
	}
	use, err := ex.MemoryUse(true)
	if err != nil {
		t.Fatal(err)
	}
	if m.Plan.Total != use.Arena || len(m.Buffers) == 0 {
		t.Errorf("a plan of %d bytes in %d buffers, want %d bytes", m.Plan.Total, len(m.Buffers),
			use.Arena)
	}
	for _, b := range m.Buffers {
		for _, v := range b.Values {
			if v.Step < b.Start || v.Step > b.End || v.Step >= len(m.Steps) {
				t.Errorf("buffer %s lives from %d to %d, its value %s is of step %d of %d", b.Name,
					b.Start, b.End, v.Name, v.Step, len(m.Steps))
			}
		}
	}
	var svg strings.Builder
	if err := m.WriteSVG(&svg); err != nil || !strings.Contains(svg.String(), "</svg>") {
		t.Errorf("picture %.100s, %v", svg.String(), err)
	}
}

func TestChainsDoNotCostMemory(t *testing.T) {
	for _, w := range nettest.Written {
		arena := map[string]int64{}
		for name, without := range map[string][]string{"fused": nil,
			"unfused": {"fuse-pointwise"}} {
			ex, err := w.Net(sym.Var("data")).SimpleBind(
				sym.BindConfig{Shapes: map[string]dtype.Shape{"data": w.Shape}, Without: without})
			if err != nil {
				t.Fatal(err)
			}
			use, err := ex.MemoryUse(true)
			if err != nil {
				t.Fatal(err)
			}
			arena[name] = use.Arena
			if testing.Verbose() {
				m, _ := ex.MemoryPlan(true)
				t.Log(w.Name, name, use.Arena)
				for i, s := range m.Steps {
					t.Log(i, s)
				}
				for k, b := range m.Buffers {
					t.Log(b.Bytes, b.Start, b.End, b.Name, m.Plan.Offsets[k])
				}
			}
			ex.Close()
		}
		if arena["fused"] > arena["unfused"]+arena["unfused"]/20 {
			t.Errorf("%s: chains need %d bytes, the operators one by one %d", w.Name,
				arena["fused"], arena["unfused"])
		}
	}
}
