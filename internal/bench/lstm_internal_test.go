package bench

import (
	"fmt"
	"testing"
)

// BenchmarkLanguageModel is one training step of the language models that the suite "local"
// measures.
func BenchmarkLanguageModel(b *testing.B) {
	for _, c := range []struct{ hidden, batch int }{{200, 32}, {650, 20}} {
		b.Run(fmt.Sprintf("%dx%d", lstmLayers, c.hidden), func(b *testing.B) {
			ex, err := languageExecutor(c.hidden, c.batch)
			if err != nil {
				b.Fatal(err)
			}
			defer ex.Close()
			step := func() {
				if err := languageStep(b.Context(), ex); err != nil {
					b.Fatal(err)
				}
			}
			step()
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
			b.ReportMetric(float64(b.N*c.batch*lstmSteps)/b.Elapsed().Seconds(), "words/s")
		})
	}
}
