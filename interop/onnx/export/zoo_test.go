package export_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/gluon"
	"gomx/gluon/zoo"
	"gomx/initializer"
	nd "gomx/ndarray"
)

var zooNames = flag.String("zoo", "", "networks of the zoo to export, with commas between; all: every one")

// network is a network of the zoo that a test exports.
type network struct {
	name   string
	make   func() (*gluon.Net, error)
	inputs []zoo.Input
}

// smallNetworks are small configurations of every kind of network, and the smallest large ones.
func smallNetworks() []network {
	words := func(name string, below int, shape ...int) zoo.Input {
		return zoo.Input{Name: name, Shape: shape, Below: below}
	}
	picture := func(shape ...int) []zoo.Input { return []zoo.Input{{Name: "data", Shape: shape}} }
	model := func(name string, opts ...zoo.Option) func() (*gluon.Net, error) {
		return func() (*gluon.Net, error) { return zoo.Model(name, opts...) }
	}
	plain := func(f func() *gluon.Net) func() (*gluon.Net, error) {
		return func() (*gluon.Net, error) { return f(), nil }
	}
	lm := func(mode string, untied bool) func() (*gluon.Net, error) {
		return plain(func() *gluon.Net {
			return gluon.New(zoo.NewLSTMLM(zoo.LSTMLMConfig{Vocab: 30, Embed: 12, Hidden: 12,
				Untied: untied, Mode: mode}))
		})
	}
	return []network{
		{"bert", plain(func() *gluon.Net {
			return zoo.NewBERT(zoo.BERTConfig{Vocab: 40, Units: 16, Hidden: 24, Layers: 2, Heads: 2,
				MaxLength: 12}).Net()
		}), []zoo.Input{words("data", 40, 3, 8), words("types", 2, 3, 8), words("length", 8, 3),
			words("places", 7, 3, 2)}},
		{"gpt2", plain(func() *gluon.Net {
			return gluon.New(zoo.NewGPT2(zoo.GPT2Config{Vocab: 40, Units: 16, Layers: 2, Heads: 2,
				MaxLength: 12}))
		}), []zoo.Input{words("data", 40, 3, 8)}},
		{"lstm", lm("lstm", false), []zoo.Input{words("data", 30, 7, 3)}},
		{"gru", lm("gru", true), []zoo.Input{words("data", 30, 7, 3)}},
		{"unet", plain(func() *gluon.Net {
			return gluon.New(zoo.NewUNet(zoo.UNetConfig{Classes: 3, Channels: 4, Levels: 2}))
		}), picture(2, 3, 16, 24)},
		{"dcgan generator", plain(func() *gluon.Net {
			return gluon.New(zoo.DCGANGenerator(zoo.DCGANConfig{Width: 2}))
		}), picture(2, 10, 1, 1)},
		{"dcgan discriminator", plain(func() *gluon.Net {
			return gluon.New(zoo.DCGANDiscriminator(zoo.DCGANConfig{Width: 2, Outputs: 2}))
		}), picture(2, 3, 64, 64)},
		{"resnet18_v1", model("resnet18_v1", zoo.Classes(5), zoo.Thumbnail()), picture(2, 3, 16, 16)},
		{"resnet18_v2", model("resnet18_v2", zoo.Classes(5), zoo.Thumbnail()), picture(2, 3, 16, 16)},
		{"mobilenet0.25", model("mobilenet0.25", zoo.Classes(5)), picture(2, 3, 64, 64)},
		{"mobilenetv2_0.25", model("mobilenetv2_0.25", zoo.Classes(5)), picture(2, 3, 64, 64)},
		{"squeezenet1.0", model("squeezenet1.0", zoo.Classes(5)), picture(1, 3, 224, 224)},
		{"densenet121", model("densenet121", zoo.Classes(5)), picture(1, 3, 224, 224)},
	}
}

// largeNetworks are the networks of the zoo as they are, by the flag -zoo.
func largeNetworks() []network {
	var list []network
	for _, e := range zoo.List() {
		if *zooNames != "all" && !strings.Contains(","+*zooNames+",", ","+e.Name+",") {
			continue
		}
		list = append(list, network{e.Name, func() (*gluon.Net, error) { return e.New() },
			e.Inputs})
	}
	return list
}

// model gives a network parameters and traces it.
func (n network) model() (*model, error) {
	net, err := n.make()
	if err != nil {
		return nil, err
	}
	if err := net.Init(initializer.Xavier{}, gluon.Seed(3)); err != nil {
		return nil, err
	}
	m := &model{inputs: map[string]*nd.Array{}}
	var opts []gluon.ExportOption
	for i, in := range n.inputs {
		x := nd.Uniform(-1, 1, in.Shape, nd.Seed(uint64(i+1)))
		if in.Below > 0 {
			x = nd.Uniform(0, float64(in.Below), in.Shape, nd.Seed(uint64(i+1))).Floor()
		}
		if in.Name == "length" {
			x = x.AddScalar(1)
		}
		name := fmt.Sprint("in", i)
		m.inputs[name] = x
		opts = append(opts, gluon.Input(name, in.Shape...))
	}
	dir, err := os.MkdirTemp("", "zoo")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	prefix := filepath.Join(dir, "net")
	if err := net.Export(prefix, 0, opts...); err != nil {
		return nil, err
	}
	made, err := checkpoint.Load(prefix, 0)
	if err != nil {
		return nil, err
	}
	m.Model = *made
	return m, nil
}

// TestNetworks exports small networks and imports them again.
func TestNetworks(t *testing.T) {
	for _, n := range smallNetworks() {
		t.Run(n.name, func(t *testing.T) {
			m, err := n.model()
			if err != nil {
				t.Fatal(err)
			}
			file, err := m.exported()
			if err != nil {
				t.Fatal(err)
			}
			want, err := m.run()
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.imported(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := compare(got, want, tolerance{1e-6, 1e-6}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNetworksRuntime runs small networks, and those of the flag -zoo, with ONNX Runtime.
func TestNetworksRuntime(t *testing.T) {
	for _, n := range append(smallNetworks(), largeNetworks()...) {
		t.Run(n.name, func(t *testing.T) {
			r := newRuntime(t)
			m, err := n.model()
			if err != nil {
				t.Fatal(err)
			}
			file, err := m.exported()
			if err != nil {
				t.Fatal(err)
			}
			if err := r.add(m, file); err != nil {
				t.Fatal(err)
			}
			r.run(t)
			want, err := m.run()
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.outputs(0)
			if err != nil {
				t.Fatal(err)
			}
			if err := compare(got, want, tolerance{1e-6, 1e-5}); err != nil {
				t.Error(err)
			}
		})
	}
}
