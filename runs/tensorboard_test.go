package runs_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gomx/runs"
)

var python = flag.String("tensorboard", "",
	"Python interpreter that can import tensorboard, with which the event files are read")

// TestTensorBoardReads lets TensorBoard's own reader load the event files of a run that was
// continued, and compares everything: `make tensorboard-check`.
func TestTensorBoardReads(t *testing.T) {
	if *python == "" {
		t.Skip("no -tensorboard; make tensorboard-check runs it")
	}
	dir := t.TempDir()
	want := map[string][]float64{}
	for part := range int64(2) {
		r := open(t, dir, runs.TensorBoard(), runs.From(200*part))
		for step := 200*part + 1; step <= 200*part+300; step++ {
			r.Add(step, runs.Point{Tag: r.Tag("loss"), Value: 1 / float64(step)},
				runs.Point{Tag: r.Tag("accuracy"), Value: 1 - 1/float64(step)})
		}
		r.Histogram("weight", 200*part+100, []float32{-1, 0, 0, 3})
		if part == 1 {
			r.Graph(&runs.Graph{Nodes: []runs.Node{{Name: "data", Shape: []int{2, 10}},
				{Name: "fc", Op: "FullyConnected", In: []string{"data"}, Shape: []int{2, 3}}}})
			r.Samples(300, []runs.Sample{{PNG: picture(t)}})
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	d := load(t, dir)
	for _, c := range d.Curves {
		for i := range c.Step {
			want[c.Name] = append(want[c.Name], float64(c.Step[i]), float64(float32(c.Value[i])))
		}
	}
	out, err := exec.Command(*python, filepath.Join("testdata", "read.py"), dir).Output()
	if err != nil {
		t.Fatalf("%v: %s; pip install tensorboard", err, errorText(err))
	}
	var got struct {
		Scalars    map[string][]float64
		Histograms map[string][][]float64
		Images     map[string][]int
		Graph      [][]string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if a, b := fmt.Sprint(got.Scalars), fmt.Sprint(want); a != b {
		t.Errorf("scalars %.300s, want %.300s", a, b)
	}
	n := 0
	for _, list := range got.Scalars {
		n += len(list) / 2
	}
	t.Logf("%d scalars are equal", n)
	if h := got.Histograms["weight"]; len(h) != 2 || fmt.Sprint(h[0]) != "[100 -1 3 4 2 10]" {
		t.Errorf("histograms %v", got.Histograms)
	}
	if fmt.Sprint(got.Images) != "map[samples/0:[300 5 4]]" {
		t.Errorf("images %v", got.Images)
	}
	if fmt.Sprint(got.Graph) != "[[data Placeholder] [fc FullyConnected data]]" {
		t.Errorf("graph %v", got.Graph)
	}
}

func errorText(err error) string {
	if e, ok := err.(*exec.ExitError); ok {
		return string(e.Stderr)
	}
	return ""
}

func picture(t *testing.T) []byte {
	m := image.NewRGBA(image.Rect(0, 0, 5, 4))
	m.Set(1, 1, color.White)
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestTensorBoardFiles makes sure that the files are where TensorBoard looks for them.
func TestTensorBoardFiles(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write(t, dir, runs.TensorBoardIn(other))
	names, err := filepath.Glob(filepath.Join(other, "events.out.tfevents.*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("files %v, %v", names, err)
	}
	if b, err := os.ReadFile(names[0]); err != nil || !bytes.Contains(b, []byte("brain.Event:2")) {
		t.Errorf("a file of %d bytes without a version, %v", len(b), err)
	}
}
