package zoo_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/autograd"
	"gomx/checkpoint"
	"gomx/gluon"
	"gomx/gluon/zoo"
	"gomx/initializer"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
)

// small is a network that is small enough to be trained for a step.
type small struct {
	make   func(t *testing.T) *gluon.Net
	inputs []zoo.Input
	shapes []nd.Shape // of the outputs
	fixed  string     // parts of names of parameters without an effect, with blanks between
}

// Small configurations.
var (
	smallBERT = zoo.BERTConfig{Vocab: 40, Units: 16, Hidden: 24, Layers: 2, Heads: 2, MaxLength: 12}
	smallGPT2 = zoo.GPT2Config{Vocab: 40, Units: 16, Layers: 2, Heads: 2, MaxLength: 12}
)

// smalls are small networks of each kind.
var smalls = map[string]small{
	"bert": {make: func(*testing.T) *gluon.Net { return zoo.NewBERT(smallBERT).Net() },
		inputs: []zoo.Input{words(40, 3, 8), words(2, 3, 8), {Name: "length", Shape: nd.Shape{3},
			Below: 8}, words(7, 3, 2)},
		shapes: []nd.Shape{{3, 8, 16}, {3, 16}, {3, 2}, {3, 2, 40}},
		// a softmax does not see what is added to all scores
		fixed: "proj_key.bias"},
	"gpt2": {make: func(*testing.T) *gluon.Net { return gluon.New(zoo.NewGPT2(smallGPT2)) },
		inputs: []zoo.Input{words(40, 3, 8)}, shapes: []nd.Shape{{3, 8, 40}}},
	"lstm": {make: func(*testing.T) *gluon.Net {
		return gluon.New(zoo.NewLSTMLM(zoo.LSTMLMConfig{Vocab: 30, Hidden: 12}))
	}, inputs: []zoo.Input{words(30, 7, 3)}, shapes: []nd.Shape{{7, 3, 30}}},
	"lstm of its own weight": {make: func(*testing.T) *gluon.Net {
		return gluon.New(zoo.NewLSTMLM(zoo.LSTMLMConfig{Vocab: 30, Embed: 5, Hidden: 12,
			Untied: true, Mode: "gru"}))
	}, inputs: []zoo.Input{words(30, 7, 3)}, shapes: []nd.Shape{{7, 3, 30}}},
	"unet": {make: func(*testing.T) *gluon.Net {
		return gluon.New(zoo.NewUNet(zoo.UNetConfig{Classes: 3, Channels: 4, Levels: 2}))
	}, inputs: []zoo.Input{{Name: "data", Shape: nd.Shape{2, 3, 16, 24}}},
		shapes: []nd.Shape{{2, 3, 16, 24}}},
	"generator": {make: func(*testing.T) *gluon.Net {
		return gluon.New(zoo.DCGANGenerator(zoo.DCGANConfig{Width: 2}))
	}, inputs: []zoo.Input{{Name: "data", Shape: nd.Shape{2, 10, 1, 1}}},
		shapes: []nd.Shape{{2, 3, 64, 64}}},
	"discriminator": {make: func(*testing.T) *gluon.Net {
		return gluon.New(zoo.DCGANDiscriminator(zoo.DCGANConfig{Width: 2, Outputs: 2}))
	}, inputs: []zoo.Input{{Name: "data", Shape: nd.Shape{2, 3, 64, 64}}},
		shapes: []nd.Shape{{2, 2}}},
	"residual": {make: model("resnet18_v2", zoo.Classes(5), zoo.Thumbnail()),
		inputs: []zoo.Input{{Name: "data", Shape: nd.Shape{2, 3, 16, 16}}},
		shapes: []nd.Shape{{2, 5}}},
	"mobile": {make: model("mobilenet_v2_0_25", zoo.Classes(5)),
		inputs: []zoo.Input{{Name: "data", Shape: nd.Shape{4, 3, 64, 64}}},
		shapes: []nd.Shape{{4, 5}}},
}

// words describes an argument of whole numbers.
func words(below int, shape ...int) zoo.Input {
	return zoo.Input{Name: "data", Shape: shape, Below: below}
}

// model makes a network by its name.
func model(name string, opts ...zoo.Option) func(t *testing.T) *gluon.Net {
	return func(t *testing.T) *gluon.Net {
		net, err := zoo.Model(name, opts...)
		ok(t, err)
		return net
	}
}

// arguments makes arguments for a network.
func arguments(inputs []zoo.Input) []*nd.Array {
	var list []*nd.Array
	for i, in := range inputs {
		x := nd.Uniform(-1, 1, in.Shape, nd.Seed(uint64(i+1)))
		if in.Below > 0 {
			x = nd.Uniform(0, float64(in.Below), in.Shape, nd.Seed(uint64(i+1))).Floor()
		}
		if in.Name == "length" {
			x = x.AddScalar(1)
		}
		list = append(list, x)
	}
	return list
}

// TestNetworks: the outputs have their shapes, a hybridized network computes the same, gradients
// reach every parameter, and files give the network back.
func TestNetworks(t *testing.T) {
	for name, s := range smalls {
		t.Run(name, func(t *testing.T) {
			net, in := s.make(t), arguments(s.inputs)
			ok(t, net.Init(initializer.Xavier{}, gluon.Seed(3)))
			want := outputs(t, net.Call(in...), s.shapes)
			s.gradients(t, net, in)
			net.Hybridize()
			ok(t, net.Init(initializer.Xavier{}, gluon.Seed(3)))
			compareOutputs(t, "hybridized", outputs(t, net.Call(in...), s.shapes), want)
			s.files(t, net, in, want)
		})
	}
}

// outputs reads outputs, which have the shapes.
func outputs(t *testing.T, list []*nd.Array, shapes []nd.Shape) (values [][]float32) {
	t.Helper()
	for i, a := range list {
		if i >= len(shapes) || !a.Shape().Equal(shapes[i]) {
			t.Fatalf("output %d of shape %v, want %v", i, a.Shape(), shapes)
		}
		values = append(values, nettest.Values(t, a))
	}
	if len(list) != len(shapes) {
		t.Fatalf("%d outputs, want %d", len(list), len(shapes))
	}
	return values
}

func compareOutputs(t *testing.T, what string, got, want [][]float32) {
	t.Helper()
	for i := range want {
		list := make([]float64, len(got[i]))
		for k, v := range got[i] {
			list[k] = float64(v)
		}
		near(t, what, list, want[i])
	}
}

// gradients trains for a step and looks for parameters without a gradient.
func (s small) gradients(t *testing.T, net *gluon.Net, in []*nd.Array) {
	t.Helper()
	tape := autograd.Train()
	watched := slices.Clone(in)
	for i := range watched {
		watched[i] = tape.Watch(in[i])
	}
	out := net.Call(watched...)
	heads := make([]*nd.Array, len(out))
	for i, y := range out {
		heads[i] = nd.Uniform(-1, 1, y.Shape(), nd.Seed(uint64(40+i)))
	}
	ok(t, autograd.Backward(out, autograd.HeadGrads(heads...)))
	for name, p := range net.Params().All() {
		if p.GradReq == nd.GradNull || slices.ContainsFunc(strings.Fields(s.fixed),
			func(part string) bool { return strings.Contains(name, part) }) {
			continue
		}
		largest := float32(0)
		for _, v := range nettest.Values(t, p.Grad()) {
			largest = max(largest, v, -v)
		}
		if !(largest > 1e-12) {
			t.Errorf("parameter %s has a gradient of at most %v", name, largest)
		}
	}
}

// files exports the network, imports it, and loads its parameters into another one.
func (s small) files(t *testing.T, net *gluon.Net, in []*nd.Array, want [][]float32) {
	t.Helper()
	prefix, names := filepath.Join(t.TempDir(), "net"), []string{}
	opts := []gluon.ExportOption{gluon.GlobalNames("")}
	for i, x := range in {
		names = append(names, "input"+string(rune('a'+i)))
		opts = append(opts, gluon.Input(names[i], x.Shape()...))
	}
	ok(t, net.Export(prefix, 0, opts...))
	params := checkpoint.ParamsPath(prefix, 0)
	again, err := gluon.Import(checkpoint.SymbolPath(prefix), names, params)
	ok(t, err)
	compareOutputs(t, "imported", outputs(t, again.Call(in...), s.shapes), want)
	other := s.make(t)
	// first states of recurrent layers are there, too
	ok(t, other.Load(params, gluon.IgnoreExtra()))
	compareOutputs(t, "loaded", outputs(t, other.Call(in...), s.shapes), want)
	ok(t, net.Save(prefix))
	other = s.make(t)
	ok(t, other.Load(prefix))
	compareOutputs(t, "loaded by structural names", outputs(t, other.Call(in...), s.shapes), want)
}

// TestSizes compares the numbers of parameters with those that are known.
func TestSizes(t *testing.T) {
	bare := zoo.BERTBase()
	bare.NoDecoder, bare.NoClassifier = true, true
	bareSmall := zoo.BERTSmall()
	bareSmall.NoDecoder, bareSmall.NoClassifier = true, true
	pairs := []zoo.Input{words(2, 1, 4), words(2, 1, 4)}
	for name, c := range map[string]struct {
		net    *gluon.Net
		inputs []zoo.Input
		want   int
		large  bool
	}{
		"BERT-base":  {zoo.NewBERT(bare).Net(), pairs, 109482240, true},
		"BERT-small": {zoo.NewBERT(bareSmall).Net(), pairs, 28763648, true},
		"BERT-base for pretraining": {zoo.NewBERT(zoo.BERTBase()).Net(), []zoo.Input{words(2, 1, 4),
			words(2, 1, 4), {Name: "length", Shape: nd.Shape{1}}, words(2, 1, 1)}, 110106428, true},
		"GPT-2 small": {gluon.New(zoo.NewGPT2(zoo.GPT2Small())), pairs[:1], 124439808, true},
		"standard_lstm_lm_200": {gluon.New(zoo.NewLSTMLM(zoo.StandardLSTM(200))),
			[]zoo.Input{words(2, 4, 1)}, 33278*200 + 33278 + 2*(2*4*200*200+2*4*200), false},
		"U-Net": {gluon.New(zoo.NewUNet(zoo.UNetConfig{})),
			[]zoo.Input{{Name: "data", Shape: nd.Shape{1, 3, 16, 16}}}, 31037698, true},
		"DCGAN generator": {gluon.New(zoo.DCGANGenerator(zoo.DCGANConfig{})),
			[]zoo.Input{{Name: "data", Shape: nd.Shape{1, 100, 1, 1}}}, 3576704, false},
		"DCGAN discriminator": {gluon.New(zoo.DCGANDiscriminator(zoo.DCGANConfig{})),
			[]zoo.Input{{Name: "data", Shape: nd.Shape{1, 3, 64, 64}}}, 2765568, false},
	} {
		if c.large && !*largeFlag {
			continue
		}
		t.Run(name, func(t *testing.T) {
			zeros(t, c.net, c.inputs)
			if trained, _ := count(c.net); trained != c.want {
				t.Errorf("%d parameters, want %d", trained, c.want)
			}
		})
	}
}

// TestBERTNames compares names with those of GluonNLP's files.
func TestBERTNames(t *testing.T) {
	names := zoo.NewBERT(smallBERT).Net().Params().Names()
	for _, want := range strings.Fields(`encoder.position_weight encoder.layer_norm.gamma
		encoder.transformer_cells.1.attention_cell.proj_query.weight
		encoder.transformer_cells.1.attention_cell.proj_key.bias
		encoder.transformer_cells.1.attention_cell.proj_value.weight
		encoder.transformer_cells.1.proj.weight encoder.transformer_cells.1.ffn.ffn_1.weight
		encoder.transformer_cells.1.ffn.ffn_2.bias encoder.transformer_cells.1.ffn.layer_norm.beta
		encoder.transformer_cells.1.layer_norm.gamma word_embed.0.weight token_type_embed.0.weight
		pooler.weight classifier.bias decoder.0.weight decoder.2.gamma decoder.3.weight
		decoder.3.bias`) {
		if !slices.Contains(names, want) {
			t.Errorf("no parameter %s in %v", want, names)
		}
	}
	if want := 5 + 2*16 + 3 + 4 + 6 - 2; len(names) < want-10 {
		t.Errorf("%d parameters", len(names))
	}
}

// TestBERTLength: steps behind the end of a sequence do not matter.
func TestBERTLength(t *testing.T) {
	c := smallBERT
	c.NoDecoder = true
	net := zoo.NewBERT(c).Net()
	ok(t, net.Init(initializer.Xavier{}))
	types, lengths := nd.Zeros(nd.Shape{2, 5}), nd.FromSlice([]float32{5, 3}, 2)
	first := net.Call(nd.FromSlice([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 2, 5), types, lengths)
	second := net.Call(nd.FromSlice([]float32{1, 2, 3, 4, 5, 6, 7, 8, 1, 2}, 2, 5), types, lengths)
	for i := range first {
		if a, b := nettest.Values(t, first[i]), nettest.Values(t, second[i]); !slices.Equal(a, b) {
			t.Errorf("output %d: %v, want %v", i, a, b)
		}
	}
	short := net.Call(nd.FromSlice([]float32{6, 7, 8}, 1, 3), nd.Zeros(nd.Shape{1, 3}))
	compareOutputs(t, "alone", [][]float32{nettest.Values(t, first[1])[16:]},
		[][]float32{nettest.Values(t, short[1])})
}

// TestGPT2Past: a sequence that is read in parts gets the scores of one that is read at once.
func TestGPT2Past(t *testing.T) {
	g := zoo.NewGPT2(smallGPT2)
	ok(t, gluon.New(g).Init(initializer.Xavier{}))
	x := arguments([]zoo.Input{words(40, 2, 7)})[0]
	want := nettest.Values(t, g.Forward(x))
	var past []*nd.Array
	var parts []*nd.Array
	for _, cut := range [][2]int{{0, 3}, {3, 4}, {4, 7}} {
		var y *nd.Array
		y, past = g.Run(x.SliceAxis(1, cut[0], cut[1]), past)
		parts = append(parts, y)
	}
	y := nd.Concat(parts, nd.ConcatParams{Dim: nd.Some(1)})
	compareOutputs(t, "in parts", [][]float32{nettest.Values(t, y)}, [][]float32{want})
	tail := nd.Concat([]*nd.Array{x.SliceAxis(1, 0, 6), nd.Zeros(nd.Shape{2, 1})},
		nd.ConcatParams{Dim: nd.Some(1)})
	changed := nettest.Values(t, g.Forward(tail))
	if !slices.Equal(changed[:6*40], want[:6*40]) {
		t.Error("a step sees later ones")
	}
}

// TestOthers makes each network by its name.
func TestOthers(t *testing.T) {
	for _, e := range zoo.List() {
		if _, vision := totals[e.Function]; vision {
			continue
		}
		net, err := e.New()
		ok(t, err)
		if n := len(net.Params().Names()); n < 6 {
			t.Errorf("%s has %d parameters", e.Name, n)
		}
	}
}

// TestSSD: a detector predicts for its anchors in training, and detects elsewhere.
func TestSSD(t *testing.T) {
	if testing.Short() {
		t.Skip("a residual network of 50 layers")
	}
	s, err := zoo.NewSSD(zoo.SSDConfig{Classes: 3})
	ok(t, err)
	net := s.Net()
	ok(t, net.Init(initializer.Xavier{}, gluon.Seed(2)))
	x := nd.Uniform(-1, 1, nd.Shape{2, 3, 128, 128}, nd.Seed(1))
	anchors := 4*(8*8) + 6*(4*4) + 6*(2*2) + 6 + 4 + 4
	raw := net.Call(autograd.Train().Watch(x))
	outputs(t, raw, []nd.Shape{{2, anchors, 4}, {2, anchors, 4}, {1, anchors, 4}})
	at := nettest.Values(t, raw[2])
	for i, want := range []float32{8, 8, 51.2, 51.2, 8, 8, 82.557556, 82.557556, 8, 8, 72.407734,
		36.203867} {
		if d := at[i] - want; d > 1e-4 || d < -1e-4 {
			t.Errorf("anchors begin with %v, %d should be %v", at[:12], i, want)
		}
	}
	heads := []*nd.Array{nd.Uniform(-1, 1, raw[0].Shape()), nd.Uniform(-1, 1, raw[1].Shape())}
	ok(t, autograd.Backward(raw[:2], autograd.HeadGrads(heads...)))
	names := net.Params().Names()
	for _, want := range strings.Fields(`features.resnetv10_conv0_weight
		features.resnetv10_stage4_batchnorm8_running_var features.expand_trans_conv0_weight
		features.expand_bn3_gamma features.expand_bn3_moving_mean
		class_predictors.5.predictor.weight box_predictors.0.predictor.bias
		anchor_generators.2.anchors`) {
		if !slices.Contains(names, want) {
			t.Errorf("no parameter %s in %v", want, names)
		}
	}
	for name, p := range net.Params().All() {
		if p.GradReq == nd.GradNull || strings.Contains(name, "expand") &&
			strings.Contains(name, "gamma") {
			continue // fixed in GluonCV, too
		}
		if v := nettest.Values(t, p.Grad()); slices.Max(v) == 0 && slices.Min(v) == 0 {
			t.Errorf("parameter %s has no gradient", name)
		}
	}
	shapes := []nd.Shape{{2, 100, 1}, {2, 100, 1}, {2, 100, 4}}
	want := outputs(t, net.Call(x), shapes)
	net.Hybridize(gluon.NoFusion())
	got := outputs(t, net.Call(x), shapes)
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("hybridized: output %d differs", i)
		}
	}
	prefix := filepath.Join(t.TempDir(), "ssd")
	ok(t, net.Export(prefix, 0, gluon.Input("data", 2, 3, 128, 128), gluon.GlobalNames("")))
	again, err := gluon.Import(checkpoint.SymbolPath(prefix), []string{"data"},
		checkpoint.ParamsPath(prefix, 0))
	ok(t, err)
	compareOutputs(t, "imported", outputs(t, again.Call(x), shapes)[:2], want[:2])
}
