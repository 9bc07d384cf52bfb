package memplan_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"gomx/memplan"
)

func TestSVGIsWellFormed(t *testing.T) {
	buffers := profile(t, "testdata/inceptionv3_b1_train.txt")
	buffers[0].Name = `a<b & "c"` + "\x00\xff"
	buffers[1].Values = []memplan.Value{{Name: "conv", Step: buffers[1].Start},
		{Name: "relu", Step: buffers[1].Start + 1}}
	plan := mustCompute(t, buffers, nil, memplan.Config{})
	var out bytes.Buffer
	if err := plan.SVG(&out, buffers); err != nil {
		t.Fatal(err)
	}
	titles := 0
	for dec := xml.NewDecoder(bytes.NewReader(out.Bytes())); ; {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := tok.(xml.StartElement); ok && start.Name.Local == "title" {
			titles++
		}
	}
	if want := len(buffers) + 1; titles != want {
		t.Errorf("%d titles, want one per buffer and one for the line: %d", titles, want)
	}
	for _, want := range []string{"gradient", "lower bound", ": relu", "a&lt;b &amp; &#34;c&#34;"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
}

// draw returns the picture of a plan of buffers on top of each other.
func draw(t *testing.T, buffers ...memplan.Buffer) string {
	t.Helper()
	var out bytes.Buffer
	if err := mustCompute(t, buffers, nil, memplan.Config{}).SVG(&out, buffers); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestSVGShortensNames gives names around the 175 characters for which the plot has room: 990 pixels
// without a margin of 6, in characters of 5.6 pixels.
func TestSVGShortensNames(t *testing.T) {
	for n, want := range map[int]string{
		174: ">a" + strings.Repeat("b", 173) + "</text>",
		175: ">a" + strings.Repeat("b", 174) + "</text>",
		176: ">…" + strings.Repeat("b", 174) + "</text>",
		177: ">…" + strings.Repeat("b", 174) + "</text>",
	} {
		name := "a" + strings.Repeat("b", n-1)
		if got := draw(t, memplan.Buffer{Bytes: 64, End: 9, Name: name}); !strings.Contains(got,
			want) {
			t.Errorf("name of %d characters: the picture lacks %q:\n%s", n, want, got)
		}
	}
}

// TestSVGThinsBorders draws buffers that are 1 pixel wide, or 1 pixel high: borders take a sixth of
// the smaller side, and at most 0.6 pixels.
func TestSVGThinsBorders(t *testing.T) {
	const border = ` stroke="#ffffff" stroke-width="`
	for name, c := range map[string]struct {
		buffers []memplan.Buffer
		want    []string // by buffer
	}{
		"narrow": {[]memplan.Buffer{{Bytes: 64, End: 989}, {Bytes: 64, Start: 500, End: 500},
			{Bytes: 64, Start: 0, End: 0}}, []string{"0.60", "0.17", "0.17"}},
		"flat": {[]memplan.Buffer{{Bytes: 64 * 519, End: 9}, {Bytes: 64, End: 9}},
			[]string{"0.60", "0.17"}},
	} {
		var got []string
		for _, rest := range strings.Split(draw(t, c.buffers...), border)[1:] {
			width, _, _ := strings.Cut(rest, `"`)
			got = append(got, width)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got borders %v, want %v", name, got, c.want)
		}
	}
}

func TestSVGOfNothing(t *testing.T) {
	plan := mustCompute(t, nil, nil, memplan.Config{})
	var out bytes.Buffer
	if err := plan.SVG(&out, nil); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "NaN") || strings.Contains(out.String(), "Inf") {
		t.Error("the empty picture divides by zero")
	}
	if err := plan.SVG(&out, make([]memplan.Buffer, 2)); err == nil {
		t.Error("no error for buffers of another plan")
	}
}

// full is a writer that fails.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestSVGReportsWriteErrors(t *testing.T) {
	plan := mustCompute(t, nil, nil, memplan.Config{})
	if err := plan.SVG(full{}, nil); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got error %v, want %v", err, io.ErrShortWrite)
	}
}
