// Style paints a picture of Fashion-MNIST in the manner of another picture (Gatys et al., Image
// Style Transfer Using Convolutional Neural Networks, 2016): the pixels themselves are trained. The
// style of a picture is the products of its features, averaged over all places. Features are
// convolutions with random weights, which are enough for textures (Ustyuzhaninov et al., 2017).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"os"

	"gomx/autograd"
	images "gomx/examples/data"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/io/image"
	nd "gomx/ndarray"
)

const (
	weight      = 200 // of the style beside the content
	mostStyle   = 0.2 // distances of the result, as shares of the distance of the two pictures
	mostContent = 0.6
)

func main() {
	dir := flag.String("data", images.Dir,
		"folder of Fashion-MNIST's files; without them digits are used")
	out := flag.String("out", "", "PNG file of the picture, none by default")
	flag.Parse()
	style, content, err := run(context.Background(), images.Open(*dir), *out, 300)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("share of the distance from the style %.4f, from the content %.4f\n", style, content)
	if style > mostStyle || content > mostContent {
		log.Fatalf("want at most %v and %v", mostStyle, mostContent)
	}
}

// features are layers of a network with random weights.
type features struct {
	Layers []*nn.Conv2D
}

// run returns the results of the layers for a picture.
func (f *features) run(in []*nd.Array) (list []*nd.Array) {
	x := in[0]
	for _, l := range f.Layers {
		x = l.Forward(x)
		list = append(list, x)
	}
	return list
}

// gram returns the products of the features (1, channels, height, width) at the same places,
// averaged: a matrix with a row for each channel.
func gram(x *nd.Array) *nd.Array {
	rows := x.Reshape(x.Shape()[1], -1)
	return rows.Dot(rows.T()).MulScalar(1 / float64(rows.Shape()[1]))
}

// stripes draws the picture whose style counts: waves from the left above to the right below.
func stripes(side int) *nd.Array {
	v := make([]float32, side*side)
	for i := range v {
		x, y := float64(i%side), float64(i/side)
		v[i] = float32(0.5 + 0.5*math.Sin((x+y)*1.2+0.5*math.Sin(y*0.7)))
	}
	return nd.FromSlice(v, 1, 1, side, side)
}

// distance returns the mean squared difference of arrays in two lists.
func distance(a, b []*nd.Array) *nd.Array {
	sum := a[0].Sub(b[0]).Square().Mean()
	if len(a) > 1 {
		sum = sum.Add(distance(a[1:], b[1:]))
	}
	return sum
}

// run trains the pixels for some steps. It returns their distances from the style and from the
// content, each divided by the distance of the two pictures.
func run(_ context.Context, set images.Set, out string, steps int) (style, content float64,
	err error) {
	train, _, err := set.Arrays()
	if err != nil {
		return 0, 0, err
	}
	f := &features{}
	for range 3 {
		f.Layers = append(f.Layers, &nn.Conv2D{Channels: 32, Kernel: nn.Square(5),
			Pad: nn.Square(2), Activation: "relu"})
	}
	net := gluon.Wrap(f, f.run)
	if err := net.Init(initializer.MSRAPrelu{}, gluon.Seed(1)); err != nil {
		return 0, 0, err
	}
	net.Hybridize()
	object, waves := train[0].Slice(0, 1), stripes(set.Size)
	grams := func(list []*nd.Array) (g []*nd.Array) {
		for _, x := range list {
			g = append(g, gram(x))
		}
		return g
	}
	last := func(list []*nd.Array) []*nd.Array { return list[len(list)-1:] }
	wantContent, wantStyle := last(net.Call(object)), grams(net.Call(waves))

	x := object.Copy()
	x.AttachGrad()
	mean, variance := x.ZerosLike(), x.ZerosLike()
	for range steps {
		found := net.Call(autograd.Train().Watch(x))
		distance(last(found), wantContent).Add(
			distance(grams(found), wantStyle).MulScalar(weight)).Backward()
		nd.AdamUpdate(x, x.Grad(), mean, variance, nd.AdamUpdateParams{LR: 0.02})
		x.Set(x.Clip(0, 1))
	}
	if out != "" {
		if err := draw(out, x, set.Size); err != nil {
			return 0, 0, err
		}
	}
	found := net.Call(x)
	style, err1 := distance(grams(found), wantStyle).
		Div(distance(grams(net.Call(object)), wantStyle)).Item()
	content, err2 := distance(last(found), wantContent).
		Div(distance(last(net.Call(waves)), wantContent)).Item()
	return style, content, errors.Join(err1, err2)
}

// draw writes a picture of numbers from 0 to 1.
func draw(path string, x *nd.Array, side int) error {
	v, err := x.Float32s()
	if err != nil {
		return err
	}
	m := image.New(side, side, 1)
	for i := range v {
		m.Pix[i] = uint8(255 * v[i])
	}
	b, err := m.PNG()
	return errors.Join(err, os.WriteFile(path, b, 0o644))
}
