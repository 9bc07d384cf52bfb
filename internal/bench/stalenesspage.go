package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"gomx/device"
)

// Files with the figures, in the folder Config.Docs.
const (
	stalenessPicture = "staleness.svg"
	stalenessPage    = "staleness.md"
	stalenessHeading = "## Figures"
)

// writeStalenessPages updates the picture and the page.
func writeStalenessPages(dir string, list []*stalenessResult) error {
	var picture bytes.Buffer
	if err := drawLines(&picture, "Three workers, of which one in turn is slow", "seconds",
		stalenessPanels(list)); err != nil {
		return err
	}
	page := filepath.Join(dir, stalenessPage)
	old, err := os.ReadFile(page)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("bench: %w", err)
	}
	text := replaceSection(old, stalenessHeading, stalenessSection(list))
	for name, content := range map[string][]byte{page: text,
		filepath.Join(dir, stalenessPicture): picture.Bytes()} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
	}
	return nil
}

// stalenessPanels are the losses over time, a panel for each model.
func stalenessPanels(list []*stalenessResult) (panels []linePanel) {
	for _, m := range stalenessModels {
		p := linePanel{title: m.title + ": mean loss of the samples"}
		for _, r := range list {
			if r.plan.Model != m.name || r.plan.Step == 0 {
				continue
			}
			s := lineSeries{name: fmt.Sprint("staleness ", r.plan.Staleness)}
			for _, at := range r.typical().points {
				s.x, s.y = append(s.x, at.At), append(s.y, at.Loss)
			}
			p.series = append(p.series, s)
		}
		panels = append(panels, p)
	}
	return panels
}

// stalenessSection returns the section of the page.
func stalenessSection(list []*stalenessResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, `%s

Measured on %s, %s with %d processors, by
`+"`gomx bench staleness --docs docs`"+`, which wrote this section and the picture. Figures are
medians of %d rounds; a round runs every line once. The third column is the time until the loss is
the one that staleness 0 has after its last clock. The fourth compares it with the time of staleness
0 in the same round.

![Mean loss over time with staleness 0, 1, 3 and 10](%s)

| model | staleness | samples/s | seconds to the loss | of the time of staleness 0 |
|---|---|---|---|---|
`, stalenessHeading, time.Now().Format(time.DateOnly), device.Processor(), runtime.NumCPU(),
		len(list[0].rounds),
		stalenessPicture)
	for _, m := range stalenessModels {
		for _, r := range list {
			if base := baseOf(list, r); base != nil && r.plan.Model == m.name {
				fmt.Fprintf(&b, "| %s | %d | %s | %s | %s |\n", m.title, r.plan.Staleness,
					thousands(r.rate()), reached(r.seconds(base)), reached(r.share(base)))
			}
		}
	}
	b.WriteString("\nBatches of one sample, nobody sleeps:\n\n| samples between two clocks | " +
		"staleness | samples/s | loss before, after |\n|---|---|---|---|\n")
	for _, r := range list {
		if p := &r.plan; p.Step == 0 {
			points := r.typical().points
			fmt.Fprintf(&b, "| %d | %d | %s | %.3f, %.3f |\n", p.Batch, p.Staleness,
				thousands(r.rate()), points[0].Loss, points[len(points)-1].Loss)
		}
	}
	return b.String()
}

// reached formats a time, or a share of one, that is infinite if a loss is never reached.
func reached(v float64) string {
	if math.IsInf(v, 1) {
		return "not reached"
	}
	return fmt.Sprintf("%.2f", v)
}
