package main

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"gomx/gluon/embed"
)

var folder = flag.String("minilm", "", "folder of all-MiniLM-L6-v2")

// TestSearch asks for pages in words that they do not begin with; make embeddings runs it.
func TestSearch(t *testing.T) {
	if *folder == "" {
		t.Skip("wants all-MiniLM-L6-v2: make embeddings PYTHON=PYTHON")
	}
	m, err := embed.Load(*folder)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	x, err := newIndex(t.Context(), m, "../../docs")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(x)
	defer server.Close()
	for question, want := range map[string]string{
		"How do I continue training after the process was killed?": "resume.md",
		"calibrate a network and compute with 8-bit integers":      "quantization.md",
		"convert a model of another framework to ONNX":             "onnx.md",
	} {
		r, err := http.Get(server.URL + "/search?n=3&q=" + url.QueryEscape(question))
		if err != nil {
			t.Fatal(err)
		}
		var hits []hit
		err = json.NewDecoder(r.Body).Decode(&hits)
		r.Body.Close()
		if err != nil || len(hits) != 3 {
			t.Fatalf("%q: %d hits, %v", question, len(hits), err)
		}
		found := false
		for _, h := range hits {
			found = found || h.Page == want
		}
		if !found || hits[0].Score < hits[2].Score {
			t.Errorf("%q: got %+v, want a paragraph of %s", question, hits, want)
		}
	}
	for path, want := range map[string]int{"/search": 404, "/search?q=x&n=0": 400, "/": 404} {
		r, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		if r.Body.Close(); r.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, r.StatusCode, want)
		}
	}
}
