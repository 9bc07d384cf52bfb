package memplan_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
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
