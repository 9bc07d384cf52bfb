package plot_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gomx/internal/plot"
)

// wellFormed fails the test unless the picture is XML with finite numbers.
func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	for dec := xml.NewDecoder(bytes.NewReader(svg)); ; {
		_, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{"NaN", "Inf"} {
		if bytes.Contains(svg, []byte(bad)) {
			t.Errorf("the picture contains %s", bad)
		}
	}
}

// training is the record of a run of twelve epochs.
func training() []plot.Series {
	var epochs, train, val, loss []float64
	for e := range 12 {
		x := float64(e)
		epochs = append(epochs, x+1)
		train = append(train, 0.97-0.2*math.Exp(-x/2))
		val = append(val, 0.91-0.12*math.Exp(-x/2))
		loss = append(loss, 0.1+0.6*math.Exp(-x/3))
	}
	return []plot.Series{
		{Name: "training", Quantity: "accuracy", X: epochs, Y: train},
		{Name: "validation", Quantity: "accuracy", X: epochs, Y: val},
		{Name: "training", Quantity: "cross-entropy", X: epochs, Y: loss},
	}
}

func TestCurves(t *testing.T) {
	epochs := []float64{1, 2, 3, 4}
	tests := []struct {
		name   string
		series []plot.Series
		want   []string
	}{
		{"a run", training(), []string{"accuracy", "cross-entropy", "training", "validation",
			"epoch", "A &lt;title&gt;"}},
		{"gaps", []plot.Series{{Name: "loss", Quantity: "loss", X: epochs,
			Y: []float64{1, math.NaN(), math.Inf(1), 2}}}, []string{"loss"}},
		{"nothing finite", []plot.Series{{Name: "loss", Quantity: "loss", X: epochs[:2],
			Y: []float64{math.NaN(), math.NaN()}}}, []string{"loss"}},
		{"one point", []plot.Series{{Name: "x", Quantity: "y", X: epochs[:1], Y: []float64{5}}},
			nil},
		{"no point", []plot.Series{{Name: "x", Quantity: "y"}}, nil},
		{"constant", []plot.Series{{Name: "x", Quantity: "y", X: epochs, Y: make([]float64, 4)}},
			nil},
		{"far away", []plot.Series{{Name: "x", Quantity: "y", X: []float64{0, 1e30},
			Y: []float64{-1e30, 1e30}}}, nil},
		{"odd names", []plot.Series{{Name: "<&>\x00\xff\n", Quantity: "\"q\"", X: epochs,
			Y: epochs}}, []string{"&lt;&amp;&gt;"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var a, b bytes.Buffer
			if err := plot.Curves(&a, "A <title>", tt.series...); err != nil {
				t.Fatal(err)
			}
			wellFormed(t, a.Bytes())
			for _, want := range tt.want {
				if !strings.Contains(a.String(), want) {
					t.Errorf("the picture lacks %q", want)
				}
			}
			if err := plot.Curves(&b, "A <title>", tt.series...); err != nil ||
				!bytes.Equal(a.Bytes(), b.Bytes()) {
				t.Errorf("drawn again the picture differs (%v)", err)
			}
			keep(t, a.Bytes())
		})
	}
}

// confusionCase is a small classifier's result.
func confusionCase() ([]string, [][]int) {
	labels := []string{"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt",
		"sneaker", "bag", "ankle boot"}
	counts := make([][]int, len(labels))
	for t := range counts {
		counts[t] = make([]int, len(labels))
		for p := range counts[t] {
			counts[t][p] = (t*7 + p*3) % 11
		}
		counts[t][t] = 900 - 10*t
	}
	counts[6][0] = 210
	return labels, counts
}

func TestConfusion(t *testing.T) {
	labels, counts := confusionCase()
	var out bytes.Buffer
	if err := plot.Confusion(&out, labels, counts); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, out.Bytes())
	for _, want := range []string{"ankle boot", ">900<", "shirt taken for T-shirt/top: 210 of",
		"recall", "precision", "accuracy 9"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	keep(t, out.Bytes())
	out.Reset()
	if err := plot.Confusion(&out, []string{"<a>", "b\x01"}, [][]int{{0, 0}, {3, 0}}); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, out.Bytes())
	if !strings.Contains(out.String(), "–") {
		t.Error("a class without examples has no dash for its recall")
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"no series", plot.Curves(io.Discard, "T"), `"T" has no series`},
		{"lengths", plot.Curves(io.Discard, "T", plot.Series{Name: "a", Quantity: "loss",
			X: []float64{1}}), `series "a" of "loss" has 1 X and 0 Y values`},
		{"no labels", plot.Confusion(io.Discard, nil, nil), "0 labels and 0 rows"},
		{"rows", plot.Confusion(io.Discard, []string{"a", "b"}, [][]int{{1, 2}}),
			"2 labels and 1 rows"},
		{"columns", plot.Confusion(io.Discard, []string{"a", "b"}, [][]int{{1, 2}, {1}}),
			`row "b" of the confusion matrix has 1 counts, want 2`},
		{"negative", plot.Confusion(io.Discard, []string{"a"}, [][]int{{-1}}),
			`count -1 of "a" classified as "a"`},
		{"full disk, curves", plot.Curves(full{}, "T", training()...), io.ErrShortWrite.Error()},
		{"full disk, matrix", plot.Confusion(full{}, []string{"a"}, [][]int{{1}}),
			io.ErrShortWrite.Error()},
	}
	for _, tt := range tests {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want one with %q", tt.name, tt.err, tt.want)
		}
	}
}

// full is a writer that fails.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// keep leaves the picture in the test's artifact directory, for eyes.
func keep(t *testing.T, svg []byte) {
	t.Helper()
	name := strings.NewReplacer("/", "_", " ", "_").Replace(t.Name()) + ".svg"
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), name), svg, 0o644); err != nil {
		t.Error(err)
	}
}

// Two quantities give two panels; training and validation share one.
func ExampleCurves() {
	epochs := []float64{1, 2, 3}
	var picture bytes.Buffer
	err := plot.Curves(&picture, "LeNet on Fashion-MNIST",
		plot.Series{Name: "training", Quantity: "accuracy", X: epochs, Y: []float64{0.81, 0.88,
			0.90}},
		plot.Series{Name: "validation", Quantity: "accuracy", X: epochs, Y: []float64{0.84, 0.87,
			0.89}},
		plot.Series{Name: "training", Quantity: "cross-entropy", X: epochs, Y: []float64{0.52, 0.33,
			0.28}})
	fmt.Println(err, bytes.Contains(picture.Bytes(), []byte("<svg")))
	// Output: <nil> true
}

// Rows are true classes, columns predicted ones.
func ExampleConfusion() {
	var picture bytes.Buffer
	err := plot.Confusion(&picture, []string{"cat", "dog"}, [][]int{{48, 2}, {5, 45}})
	fmt.Println(err, bytes.Contains(picture.Bytes(), []byte("accuracy 93.0%: 93 of 100")))
	// Output: <nil> true
}
