package io_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"gomx/internal/conformance"
	dataio "gomx/io"
	nd "gomx/ndarray"
)

func openGolden(t *testing.T) *conformance.Golden {
	t.Helper()
	g, err := conformance.Open("../../shared/golden/formats")
	if err != nil {
		t.Skip("no golden data")
	}
	t.Cleanup(func() { g.Close() })
	return g
}

type goldenIterator struct {
	Kind, Iterator, File string
	Kwargs               map[string]any
	Epochs               [][]struct {
		Data      conformance.Ref
		Label     []conformance.Ref
		Pad       int
		Index     []int
		ValidRows *int `json:"valid_rows"`
	}
	Tolerance float64
}

// TestGoldenIterators compares every batch of every epoch with MXNet's.
func TestGoldenIterators(t *testing.T) {
	g := openGolden(t)
	var index struct {
		Npz   string
		Cases []json.RawMessage
	}
	if err := g.Part("formats.json", &index); err != nil {
		t.Fatal(err)
	}
	for _, raw := range index.Cases {
		var c goldenIterator
		_ = json.Unmarshal(raw, &c) // other kinds have other fields
		if c.Kind != "iterator" || strings.HasPrefix(c.Iterator, "Image") {
			continue
		}
		name, _ := json.Marshal(c.Kwargs)
		t.Run(c.Iterator+string(name), func(t *testing.T) { runIterator(t, g, &c) })
	}
}

func runIterator(t *testing.T, g *conformance.Golden, c *goldenIterator) {
	it, err := makeIterator(t, g, c)
	if err != nil {
		t.Fatal(err)
	}
	for e, batches := range c.Epochs {
		if e > 0 {
			if err := it.Reset(); err != nil {
				t.Fatal(err)
			}
		}
		if got := it.(dataio.Counter).Batches(); got != len(batches) {
			t.Errorf("epoch %d: Batches() = %d, want %d", e, got, len(batches))
		}
		for i, want := range batches {
			b, err := it.Next(context.Background())
			if err != nil {
				t.Fatalf("epoch %d batch %d: %v", e, i, err)
			}
			if b.Pad != want.Pad {
				t.Errorf("epoch %d batch %d: pad %d, want %d", e, i, b.Pad, want.Pad)
			}
			rows := want.Data.Shape[0]
			if want.ValidRows != nil {
				rows = *want.ValidRows
			}
			sameRows(t, g, b.Data[0], want.Data, rows, c.Tolerance)
			sameRows(t, g, b.Label[0], want.Label[0], rows, c.Tolerance)
			if want.Index != nil && c.Iterator != "MNISTIter" &&
				!slices.Equal(b.Index[:rows], want.Index[:rows]) {
				t.Errorf("epoch %d batch %d: index %v, want %v", e, i, b.Index, want.Index)
			}
		}
		if _, err := it.Next(context.Background()); !errors.Is(err, io.EOF) {
			t.Fatalf("epoch %d: after %d batches: %v, want io.EOF", e, len(batches), err)
		}
	}
}

func sameRows(t *testing.T, g *conformance.Golden, got *nd.Array, ref conformance.Ref, rows int,
	tol float64) {
	t.Helper()
	want, err := g.Array("formats.npz", ref)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Shape().Equal(want.Shape) {
		t.Fatalf("%s: shape %v, want %v", ref.Key, got.Shape(), want.Shape)
	}
	values, err := got.Float64s()
	if err != nil {
		t.Fatal(err)
	}
	w := want.Float64s()
	for i := range len(w) / want.Shape[0] * rows {
		if math.Abs(values[i]-w[i]) > tol+1e-6*math.Abs(w[i]) {
			t.Fatalf("%s: element %d is %v, want %v", ref.Key, i, values[i], w[i])
		}
	}
}

func makeIterator(t *testing.T, g *conformance.Golden, c *goldenIterator) (dataio.Iter, error) {
	shape := func(key string) (s nd.Shape) {
		list, _ := c.Kwargs[key].([]any)
		for _, v := range list {
			s = append(s, int(v.(float64)))
		}
		return s
	}
	path := func(key string) string {
		if name, ok := c.Kwargs[key].(string); ok {
			return g.Path(name)
		}
		return ""
	}
	batch := int(c.Kwargs["batch_size"].(float64))
	text := dataio.TextConfig{Data: g.Path(c.File), DataShape: shape("data_shape"),
		LabelShape: shape("label_shape"), BatchSize: batch}
	if c.Kwargs["round_batch"] == false {
		text.LastBatch = dataio.Pad
	}
	switch c.Iterator {
	case "CSVIter":
		text.Label = path("label_csv")
		return dataio.CSVIter(dataio.CSVConfig{TextConfig: text})
	case "LibSVMIter":
		text.Label = path("label_libsvm")
		return dataio.LibSVMIter(dataio.LibSVMConfig{TextConfig: text})
	case "MNISTIter":
		return dataio.MNISTIter(dataio.MNISTConfig{Image: g.Path(c.File), Label: path("label"),
			BatchSize: batch, Flat: c.Kwargs["flat"].(bool)})
	}
	last, err := dataio.ParseLastBatch(c.Kwargs["last_batch_handle"].(string))
	if err != nil {
		t.Fatal(err)
	}
	n := int(c.Kwargs["n"].(float64))
	return dataio.NDArrayIter(dataio.NDArrayConfig{
		Data:      []*nd.Array{nd.FromSlice(ramp(n*3, 1), n, 3)},
		Label:     []*nd.Array{nd.FromSlice(ramp(n, 10))},
		BatchSize: batch, LastBatch: last})
}

// ramp returns 0, step, 2·step, …
func ramp(n int, step float32) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i) * step
	}
	return v
}

// TestGoldenRecords reads MXNet's RecordIO files and writes them again, byte by byte the same.
func TestGoldenRecords(t *testing.T) {
	g := openGolden(t)
	var index struct {
		Cases []struct {
			Kind, File, Idx string
			Records         []json.RawMessage
			Keys            []int
		}
	}
	if err := g.Part("formats.json", &index); err != nil {
		t.Fatal(err)
	}
	for _, c := range index.Cases {
		switch c.Kind {
		case "recordio":
			data, err := os.ReadFile(g.Path(c.File))
			if err != nil {
				t.Fatal(err)
			}
			var again bytes.Buffer
			r, w := dataio.NewRecordReader(bufio.NewReader(bytes.NewReader(data))),
				dataio.NewRecordWriter(&again)
			for i, raw := range c.Records {
				b, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				if got, want := hex.EncodeToString(b), unquote(raw); got != want {
					t.Errorf("record %d: %s, want %s", i, got, want)
				}
				if err := w.Write(b); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("after the last record: %v, want io.EOF", err)
			}
			if !bytes.Equal(again.Bytes(), data) {
				t.Errorf("%s: written again it differs", c.File)
			}
		case "recordio_indexed":
			r, err := dataio.OpenIndexed(g.Path(c.Idx), g.Path(c.File))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for i := len(c.Keys) - 1; i >= 0; i-- {
				b, err := r.Read(c.Keys[i])
				if err != nil {
					t.Fatal(err)
				}
				if got, want := hex.EncodeToString(b), unquote(c.Records[i]); got != want {
					t.Errorf("key %d: %s, want %s", c.Keys[i], got, want)
				}
			}
		case "recordio_header":
			for i, raw := range c.Records {
				checkHeader(t, i, raw)
			}
		}
	}
}

func checkHeader(t *testing.T, i int, raw json.RawMessage) {
	var want struct {
		Raw     string
		Label   []float32
		ID, ID2 uint64
		Payload string
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	data, err := hex.DecodeString(want.Raw)
	if err != nil {
		t.Fatal(err)
	}
	h, content, err := dataio.UnpackRecord(data)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(h.Label, want.Label) || h.ID != want.ID || h.ID2 != want.ID2 ||
		hex.EncodeToString(content) != want.Payload {
		t.Errorf("header %d: %+v %x, want %+v", i, h, content, want)
	}
	again, contentAgain, err := dataio.UnpackRecord(dataio.PackRecord(h, content))
	if err != nil || !slices.Equal(again.Label, h.Label) || again.ID != h.ID ||
		!bytes.Equal(content, contentAgain) {
		t.Errorf("header %d: packed again it is %+v, %v", i, again, err)
	}
}

func unquote(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}
