package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestBenchJSON(t *testing.T) {
	for _, size := range []int{1, 7, 1000} {
		var out, notes bytes.Buffer
		w := &benchJSON{out: &out, notes: &notes}
		text := "# AMD, 2 cores\nlenet\t1.5e+04\t-\t-\tsamples/s\t-\n" +
			"dot\t12.5\t10\t1.25\tGFLOP/s\tmxnet\n"
		for len(text) > 0 {
			n := min(size, len(text))
			if got, err := w.Write([]byte(text[:n])); got != n || err != nil {
				t.Fatal(got, err)
			}
			text = text[n:]
		}
		want := `{"name":"lenet","value":15000,"unit":"samples/s"}` + "\n" +
			`{"name":"dot","value":12.5,"peer":"mxnet","peer_value":10,"ratio":1.25,` +
			`"unit":"GFLOP/s"}` + "\n"
		if out.String() != want || notes.String() != "# AMD, 2 cores\n" {
			t.Errorf("got\n%s%s\nwant\n%s", &out, &notes, want)
		}
	}
	w := &benchJSON{out: &bytes.Buffer{}, notes: &bytes.Buffer{}}
	if _, err := w.Write([]byte("a\tx\t-\t-\ts\t-\n")); err == nil ||
		!strings.Contains(err.Error(), `"a"`) {
		t.Errorf("got %v, want an error that names the line", err)
	}
}
