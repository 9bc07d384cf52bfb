package training

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"
)

// NewCounter returns a function for the progress of a work on things, such as pictures. It shows
// their count, the remaining time and the memory in use: as a bar on terminals, as a line every ten
// seconds elsewhere. End removes the bar. Both are called by one goroutine at a time.
func NewCounter(w io.Writer, what string) (show func(done, all int), end func()) {
	if f, ok := w.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		return barCounter(w, what)
	}
	c := &lineCounter{w: w, what: what, now: time.Now}
	c.begin = c.now()
	c.last = c.begin
	return c.show, func() {}
}

// barCounter returns the functions of a bar.
func barCounter(w io.Writer, what string) (show func(done, all int), end func()) {
	var bar *progressbar.ProgressBar
	show = func(done, all int) {
		if bar == nil {
			bar = progressbar.NewOptions(all,
				progressbar.OptionSetWriter(w),
				progressbar.OptionSetWidth(30),
				progressbar.OptionShowCount(),
				progressbar.OptionShowIts(),
				progressbar.OptionSetItsString(what),
				progressbar.OptionSetPredictTime(true),
				progressbar.OptionThrottle(100*time.Millisecond),
				progressbar.OptionClearOnFinish())
		}
		bar.Describe(memory())
		_ = bar.Set(done) // a bar that cannot be drawn is no reason to end the work
	}
	return show, func() {
		if bar != nil {
			_ = bar.Finish()
			_ = bar.Clear()
		}
	}
}

// lineCounter writes lines by the clock.
type lineCounter struct {
	w           io.Writer
	what        string
	now         func() time.Time
	begin, last time.Time // of the work, of the last line
}

func (c *lineCounter) show(done, all int) {
	now := c.now()
	if done <= 0 || now.Sub(c.last) < linesEvery {
		return
	}
	c.last = now
	left := time.Duration(float64(now.Sub(c.begin)) / float64(done) * float64(all-done))
	fmt.Fprintf(c.w, "%d of %d %s\tETA: %v\tMemory: %s\n", done, all, c.what,
		left.Round(time.Second), memory())
}
