package bench

import (
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"
)

func TestBars(t *testing.T) {
	var b strings.Builder
	err := drawBars(&b, "who is <fast>", []string{"ours", "theirs"}, []barPanel{
		{title: "samples/s", log: true, groups: []barGroup{{label: "big",
			values: []float64{2_500_000, 1000}},
			{label: "alone", values: []float64{500, math.NaN()}}}},
		{title: "MiB", groups: []barGroup{{label: "big", values: []float64{100, 0}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"who is &lt;fast&gt;", ">2.5M<", ">1k<", ">500<", ">alone<",
		`width="400.0" height="10.0"`, `width="0.0"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	if n := strings.Count(b.String(), "<rect"); n != 1+2+3+2 {
		t.Errorf("%d boxes, want a sheet, 2 of the legend and 5 bars", n)
	}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := drawBars(io.Discard, "x", []string{"a"},
		[]barPanel{{groups: []barGroup{{label: "b"}}}}); err == nil {
		t.Error("a group without values: no error")
	}
}
