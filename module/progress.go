package module

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"
)

// reporter shows how training goes on.
type reporter interface {
	begin(epoch int)
	batch(*BatchEnd)
	epoch(*EpochEnd)
}

// linesEvery is after how many batches a line is written where there is no terminal.
const linesEvery = 50

// newProgress returns a bar for terminals and a speedometer for everything else.
func newProgress(w io.Writer, epochs, batches int) reporter {
	if f, ok := w.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		return &bar{w: w, epochs: epochs, batches: batches}
	}
	return newSpeedometer(w, linesEvery)
}

// speedometer writes lines in MXNet's format.
type speedometer struct {
	w     io.Writer
	every int
	seen  int // samples since start
	start time.Time
}

func newSpeedometer(w io.Writer, every int) reporter { return &speedometer{w: w, every: max(every, 1)} }

func (s *speedometer) begin(int) { s.seen = 0 }

func (s *speedometer) batch(b *BatchEnd) {
	if b.Batch == 0 {
		// The first batch compiles kernels and fills caches: the clock starts after it.
		s.start = time.Now()
		return
	}
	s.seen += b.Samples
	if b.Batch%s.every != 0 {
		return
	}
	speed := float64(s.seen) / time.Since(s.start).Seconds()
	line := fmt.Sprintf("Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec", b.Epoch, b.Batch-s.every, b.Batch, speed)
	for _, v := range b.Window() {
		line += fmt.Sprintf("\t%s=%f", v.Name, v.Value)
	}
	fmt.Fprintln(s.w, line)
	s.seen, s.start = 0, time.Now()
}

func (s *speedometer) epoch(e *EpochEnd) { writeEpoch(s.w, e) }

// writeEpoch writes the lines of MXNet's fit after an epoch.
func writeEpoch(w io.Writer, e *EpochEnd) {
	var b strings.Builder
	for _, v := range e.Train {
		fmt.Fprintf(&b, "Epoch[%d] Train-%s=%f\n", e.Epoch, v.Name, v.Value)
	}
	fmt.Fprintf(&b, "Epoch[%d] Time cost=%.3f\n", e.Epoch, e.Time.Seconds())
	for _, v := range e.Validation {
		fmt.Fprintf(&b, "Epoch[%d] Validation-%s=%f\n", e.Epoch, v.Name, v.Value)
	}
	io.WriteString(w, b.String())
}

// bar is a progress bar with speed and estimated time, one per epoch.
type bar struct {
	w               io.Writer
	epochs, batches int
	bar             *progressbar.ProgressBar
}

func (p *bar) begin(int) { p.bar = nil }

func (p *bar) batch(b *BatchEnd) {
	if p.bar == nil {
		total := -1 // unknown: a spinner
		if p.batches > 0 {
			total = p.batches * b.Samples
		}
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(p.w),
			progressbar.OptionSetDescription(p.title(b.Epoch)),
			progressbar.OptionSetWidth(30),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionSetItsString("images"),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish())
	}
	if b.Batch > 0 && b.Batch%linesEvery == 0 {
		p.bar.Describe(p.title(b.Epoch) + "  " + b.Window().String())
	}
	// A bar that cannot be drawn is no reason to end training.
	_ = p.bar.Add(b.Samples)
}

func (p *bar) title(epoch int) string { return fmt.Sprintf("epoch %d/%d", epoch+1, p.epochs) }

func (p *bar) epoch(e *EpochEnd) {
	if p.bar != nil {
		_ = p.bar.Finish()
		_ = p.bar.Clear()
	}
	line := fmt.Sprintf("%s  %s  %.0f images/s  %.1f s", p.title(e.Epoch), e.Train,
		float64(e.Samples)/e.Time.Seconds(), e.Time.Seconds())
	if e.Validation != nil {
		line += "  validation " + e.Validation.String()
	}
	fmt.Fprintln(p.w, line)
}
