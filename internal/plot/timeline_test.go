package plot_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"gomx/internal/plot"
)

func step() *plot.Timeline {
	ms := time.Millisecond
	return &plot.Timeline{
		Title: "a <step>", Caption: []string{"first line", "second & last"},
		Rows: []string{"program", "idle", "worker"}, Kinds: []string{"forward", "copy", "unused"},
		Boxes: []plot.Box{
			{Row: "worker", Kind: "forward", Label: "conv1", Start: 3 * ms, End: 6 * ms},
			{Row: "program", Kind: "other", Label: "push", Start: 2 * ms, End: 12 * ms},
			{Row: "worker", Kind: "copy", Label: "batch", Note: "64 images", Start: 2 * ms,
				End: 2*ms + 1000},
			{Row: "late", Kind: "copy", Label: "weights & biases", Start: 4 * ms, End: 5 * ms},
			{Row: "program", Kind: "forward", Label: "inside", Start: 3 * ms, End: 9 * ms},
			{Row: "program", Kind: "forward", Label: "beyond", Start: 10 * ms, End: 13 * ms},
			{Row: "worker", Kind: "copy", Label: "batch", Start: 2*ms + 1000, End: 2*ms + 2000},
			{Row: "worker", Kind: "copy", Label: "label", Start: 2*ms + 2000, End: 2*ms + 3000},
		},
	}
}

func TestTimeline(t *testing.T) {
	var b bytes.Buffer
	if err := step().WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.Bytes())
	got := b.String()
	for _, want := range []string{
		">a &lt;step&gt;<", ">second &amp; last<", ">worker<", ">late<", ">conv1<", ">copy<",
		"milliseconds",
		"<title>batch 64 images: 1µs from 0s</title>",
		"<title>weights &amp; biases: 1ms from 2ms</title>", `width="1.50"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	for text, want := range map[string]int{">unused<": 0, ">idle<": 0, ">inside<": 0, ">beyond<": 1,
		">batch<": 1, ">label<": 1, "rotate(-50)": 2} {
		if n := strings.Count(got, text); n != want {
			t.Errorf("%s is %d times in the picture, want %d", text, n, want)
		}
	}
	var again bytes.Buffer
	if err := step().WriteSVG(&again); err != nil || again.String() != got {
		t.Errorf("a second picture of the same differs (error %v)", err)
	}
}

func TestTimelineRejects(t *testing.T) {
	var b bytes.Buffer
	backwards := &plot.Timeline{Boxes: []plot.Box{{Label: "x", Start: 2, End: 1}}}
	for name, line := range map[string]*plot.Timeline{"nothing to draw": {}, "ends at": backwards} {
		if err := line.WriteSVG(&b); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error with %q", err, name)
		}
	}
	if err := step().WriteSVG(failing{}); !errors.Is(err, errFailing) {
		t.Errorf("a writer that fails: got %v", err)
	}
}

func TestTimelineOfAnInstant(t *testing.T) {
	var b bytes.Buffer
	if err := (&plot.Timeline{Boxes: []plot.Box{{Row: "r", Label: "l"}}}).WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.Bytes())
}

var errFailing = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFailing }
