package training

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"gomx/device"

	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"
)

// Reporter shows the progress of training.
type Reporter interface {
	Begin(epoch int)
	Batch(*BatchEnd)
	Epoch(*EpochEnd)
}

// How often Progress writes a line where there is no terminal, and scores where there is one.
const (
	linesEvery  = 10 * time.Second
	scoresEvery = time.Second
)

// NewProgress returns a bar for terminals, and lines by the clock for other writers. Epochs is
// their number, batches the number of batches of an epoch; 0: unknown.
func NewProgress(w io.Writer, epochs, batches int) Reporter {
	if f, ok := w.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		return &bar{w: w, epochs: epochs, batches: batches}
	}
	return &clock{w: w, batches: batches, every: linesEvery, now: time.Now}
}

// clock writes a line when so much time has passed since the last one, however many batches that
// were: a slow run is seen to go on, a fast one does not fill the screen.
type clock struct {
	w       io.Writer
	batches int // of an epoch; 0: unknown
	every   time.Duration
	now     func() time.Time
	seen    int // samples since the last line
	last    time.Time
}

// Begin implements Reporter.
func (c *clock) Begin(int) { c.seen, c.last = 0, c.now() }

// Batch implements Reporter.
func (c *clock) Batch(b *BatchEnd) {
	c.seen += b.Samples
	now := c.now()
	passed := now.Sub(c.last)
	if passed < c.every {
		return
	}
	line := fmt.Sprintf("Epoch[%d] Batch [%d", b.Epoch, b.Batch+1)
	if c.batches > 0 {
		line += fmt.Sprintf("/%d", c.batches)
	}
	line += fmt.Sprintf("]\tSpeed: %.2f samples/sec", float64(c.seen)/passed.Seconds())
	for _, v := range b.Scores() {
		line += fmt.Sprintf("\t%s=%f", v.Name, v.Value)
	}
	if left := c.batches - b.Batch - 1; c.batches > 0 {
		each := passed.Seconds() * float64(b.Samples) / float64(c.seen)
		line += "\tETA: " + (time.Duration(float64(left) * each * float64(time.Second))).Round(
			time.Second).String()
	}
	fmt.Fprintf(c.w, "%s\tMemory: %s\n", line, memory())
	c.seen, c.last = 0, now
}

// Epoch implements Reporter.
func (c *clock) Epoch(e *EpochEnd) { writeEpoch(c.w, e) }

// speedometer writes lines in MXNet's format.
type speedometer struct {
	w     io.Writer
	every int
	seen  int // samples since start
	start time.Time
}

// NewSpeedometer returns a reporter that writes a line in MXNet's format after every so many
// batches, and lines after epochs.
func NewSpeedometer(w io.Writer, every int) Reporter {
	return &speedometer{w: w, every: max(every, 1)}
}

// Begin implements Reporter.
func (s *speedometer) Begin(int) { s.seen = 0 }

// Batch implements Reporter.
func (s *speedometer) Batch(b *BatchEnd) {
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
	line := fmt.Sprintf("Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec", b.Epoch,
		b.Batch-s.every, b.Batch, speed)
	for _, v := range b.Window() {
		line += fmt.Sprintf("\t%s=%f", v.Name, v.Value)
	}
	fmt.Fprintln(s.w, line)
	s.seen, s.start = 0, time.Now()
}

// Epoch implements Reporter.
func (s *speedometer) Epoch(e *EpochEnd) { writeEpoch(s.w, e) }

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
	scored          time.Time // when scores were last shown
}

// Begin implements Reporter.
func (p *bar) Begin(int) { p.bar = nil }

// Batch implements Reporter.
func (p *bar) Batch(b *BatchEnd) {
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
	if now := time.Now(); now.Sub(p.scored) >= scoresEvery {
		p.bar.Describe(fmt.Sprintf("%s  %s  %s", p.title(b.Epoch), b.Scores(), memory()))
		p.scored = now
	}
	// A bar that cannot be drawn is no reason to end training.
	_ = p.bar.Add(b.Samples)
}

// memory describes the memory in use on the processor.
func memory() string {
	u := device.Usage(device.CPU())
	return fmt.Sprintf("%.0f MiB", float64(u.Total())/(1<<20))
}

func (p *bar) title(epoch int) string { return fmt.Sprintf("epoch %d/%d", epoch+1, p.epochs) }

// Epoch implements Reporter.
func (p *bar) Epoch(e *EpochEnd) {
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
