//go:build cgo

package measure_test

import (
	"testing"

	"gomx/plan"
)

// The calibration has the costs of all ways, and the memory of processes.
func TestHost(t *testing.T) {
	m := measurer(t)
	h, err := m.Host(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range plan.WayNames() {
		w := h.Ways[name]
		if w == nil || len(w.Points) < 3 {
			t.Errorf("%s: %+v, want at least three points", name, w)
			continue
		}
		for _, p := range w.Points {
			if p.Worker <= 0 || p.Server <= 0 {
				t.Errorf("%s: point %+v, want positive times", name, p)
			}
		}
		if len(w.Rings) != 3 || w.Rings[0].Bytes >= w.Rings[2].Bytes {
			t.Errorf("%s: messages of %s %+v, want three points with growing sizes", name,
				plan.StoreRing, w.Rings)
		}
	}
	if len(h.Memory) < 4 || h.Memory[0].Server < 1<<20 || len(h.Updates) != 3 || h.Copy <= 0 ||
		len(h.Codecs) != 4 {
		t.Errorf("calibration %+v", h)
	}
}
