package vision_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/gluon/data"
	"gomx/gluon/data/vision"
	"gomx/io/image"
	nd "gomx/ndarray"
)

// noise returns a picture of random bytes.
func noise(seed uint64, height, width, channels int) data.Tensor {
	r := rand.New(rand.NewPCG(seed, 1))
	pix := make([]uint8, height*width*channels)
	for i := range pix {
		pix[i] = uint8(r.IntN(256))
	}
	return data.Values(pix, height, width, channels)
}

func apply(t *testing.T, f vision.Transform, x data.Tensor, seed uint64) data.Tensor {
	t.Helper()
	before := slices.Clone(x.Bytes)
	y, err := f.Apply(x, rand.New(rand.NewPCG(seed, 0)))
	if err != nil {
		t.Fatalf("%#v: %v", f, err)
	}
	if !bytes.Equal(before, x.Bytes) {
		t.Fatalf("%#v changes its input", f)
	}
	return y
}

// random are all random transforms of pictures.
var random = vision.Compose{
	vision.RandomResizedCrop{Size: image.Size{Width: 20}},
	vision.RandomCrop{Size: image.Size{Width: 18, Height: 16}, Pad: 2, Value: 9},
	vision.RandomFlipLeftRight{}, vision.RandomFlipTopBottom{},
	vision.RandomColorJitter{Brightness: 0.2, Contrast: 0.2, Saturation: 0.2, Hue: 0.1},
	vision.RandomLighting{Alpha: 0.1}, vision.RandomGray{P: 0.3},
	vision.RandomApply{Transform: vision.RandomBrightness{Most: 0.5}},
	vision.ToTensor{}, vision.RandomRotation{Low: -20, High: 20, Zoom: image.ZoomIn, P: 0.7},
	vision.Normalize{Mean: []float64{0.4, 0.5, 0.6}, Std: []float64{0.2}}, vision.Cast{dtype.Float16},
}

// TestWorkersAgree compares the batches of random transforms for several numbers of workers.
func TestWorkersAgree(t *testing.T) {
	var list []data.Sample
	for i := range 13 {
		list = append(list, data.Sample{noise(uint64(i), 24+i, 30, 3), data.Scalar(int32(i))})
	}
	set := data.FromSlice(list).Map(vision.First(random...))
	var want [][]byte
	for _, workers := range []int{0, 1, 3} {
		l := data.NewLoader(set, 4, data.Shuffle(5), data.Workers(workers))
		var got [][]byte
		for range 2 {
			for b, err := range l.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if s := b.Data.Shape(); !s[1:].Equal(nd.Shape{3, 16, 18}) {
					t.Fatalf("batch of shape %v", s)
				}
				row := make([]byte, b.Data.Bytes())
				if err := b.Data.ReadBytes(t.Context(), row); err != nil {
					t.Fatal(err)
				}
				got = append(got, row)
			}
		}
		if want == nil {
			want = got
		}
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%d workers give other batches than none", workers)
		}
		if bytes.Equal(got[0], got[4]) {
			t.Errorf("%d workers: two epochs are equal", workers)
		}
	}
}

// TestColors checks the limits of random changes of colors of both types.
func TestColors(t *testing.T) {
	x := noise(3, 9, 8, 3)
	for seed := range uint64(50) {
		hue := apply(t, vision.RandomHue{Most: 0.5}, x, seed).Bytes
		bright := apply(t, vision.RandomBrightness{Most: 0.5}, x, seed).Bytes
		saturated := apply(t, vision.RandomSaturation{Most: 1}, apply(t, vision.Cast{}, x, 0), seed)
		s, err := data.Elements[float32](saturated)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(hue); i += 3 {
			p, h := x.Bytes[i:i+3], hue[i:i+3]
			if d := int(slices.Max(p)) - int(slices.Max(h)); d < 0 || d > 1 {
				t.Fatalf("seed %d: hue makes %v of %v", seed, h, p)
			}
			if d := int(slices.Min(p)) - int(slices.Min(h)); d < 0 || d > 1 {
				t.Fatalf("seed %d: hue makes %v of %v", seed, h, p)
			}
			if f := float64(bright[i]); f < 0.5*float64(p[0])-1 || f > 1.5*float64(p[0]) {
				t.Fatalf("seed %d: brightness makes %v of %v", seed, f, p[0])
			}
			gray := func(r, g, b float64) float64 { return 0.299*r + 0.587*g + 0.114*b }
			if d := gray(float64(p[0]), float64(p[1]), float64(p[2])) - gray(float64(s[i]),
				float64(s[i+1]), float64(s[i+2])); math.Abs(d) > 1e-2 {
				t.Fatalf("seed %d: saturation changes luminance by %v", seed, d)
			}
		}
	}
	gray := noise(4, 5, 5, 1)
	for _, f := range []vision.Transform{vision.RandomHue{Most: 0.5},
		vision.RandomSaturation{Most: 0.5}, vision.RandomLighting{Alpha: 1}, vision.RandomGray{P: 1}} {
		if y := apply(t, f, gray, 1); !bytes.Equal(y.Bytes, gray.Bytes) {
			t.Errorf("%#v changes a picture of one channel", f)
		}
	}
	if y := apply(t, vision.RandomContrast{Most: 0.5}, gray, 1); bytes.Equal(y.Bytes, gray.Bytes) {
		t.Error("contrast changes nothing")
	}
}

func TestFlips(t *testing.T) {
	x := data.Values([]uint8{1, 2, 3, 4, 5, 6}, 2, 3, 1)
	if y := apply(t, vision.RandomFlipLeftRight{P: 1}, x, 1); !bytes.Equal(y.Bytes,
		[]byte{3, 2, 1, 6, 5, 4}) {
		t.Errorf("left and right: %v", y.Bytes)
	}
	if y := apply(t, vision.RandomFlipTopBottom{P: 1}, x, 1); !bytes.Equal(y.Bytes,
		[]byte{4, 5, 6, 1, 2, 3}) {
		t.Errorf("top and bottom: %v", y.Bytes)
	}
	n := 0
	for seed := range uint64(400) {
		if y := apply(t, vision.RandomFlipLeftRight{}, x, seed); y.Bytes[0] == 3 {
			n++
		}
	}
	if n < 160 || n > 240 {
		t.Errorf("%d flips of 400, want about half", n)
	}
}

// TestBatches applies transforms to a batch and to its pictures.
func TestBatches(t *testing.T) {
	a, b := noise(1, 8, 9, 3), noise(2, 8, 9, 3)
	both := data.Values(append(slices.Clone(a.Bytes), b.Bytes...), 2, 8, 9, 3)
	f := vision.Compose{vision.Resize{Size: image.Size{Width: 5}}, vision.ToTensor{},
		vision.Rotate{Degrees: 10}, vision.Normalize{Mean: []float64{0.5}}}
	x, y, z := apply(t, f, a, 1), apply(t, f, b, 1), apply(t, f, both, 1)
	if !z.Shape.Equal(nd.Shape{2, 3, 5, 5}) || !bytes.Equal(z.Bytes, append(slices.Clone(x.Bytes),
		y.Bytes...)) {
		t.Errorf("batch %v is not the two pictures", z)
	}
	turned := apply(t, vision.RandomRotation{Low: 1, High: 90}, apply(t, vision.ToTensor{},
		data.Values(append(slices.Clone(a.Bytes), a.Bytes...), 2, 8, 9, 3), 1), 1)
	if half := len(turned.Bytes) / 2; bytes.Equal(turned.Bytes[:half], turned.Bytes[half:]) {
		t.Error("the pictures of a batch are turned by the same angle")
	}
}

func TestTransformMistakes(t *testing.T) {
	x, chw := noise(1, 4, 4, 3), data.Values(make([]float32, 48), 3, 4, 4)
	for name, c := range map[string]struct {
		f vision.Transform
		x data.Tensor
	}{
		"no size": {vision.Resize{}, x}, "vector": {vision.CenterCrop{Size: image.Size{Width: 1}},
			data.Values([]uint8{1})},
		"outside":           {vision.CropResize{X: 1, Width: 4, Height: 1}, x},
		"bytes":             {vision.Normalize{}, x},
		"numbers":           {vision.Normalize{Std: []float64{1, 2}}, chw},
		"angles":            {vision.RandomRotation{Low: 2, High: 1}, chw},
		"bytes to turn":     {vision.Rotate{Degrees: 3}, x},
		"border":            {vision.RandomCrop{Size: image.Size{Width: 1}, Pad: -1}, x},
		"integers":          {vision.RandomHue{}, data.Values(make([]int32, 3), 1, 1, 3)},
		"type":              {vision.Cast{dtype.Unknown}, x},
		"vector to tensor":  {vision.ToTensor{}, data.Values([]uint8{1})},
		"vector to flip":    {vision.RandomFlipLeftRight{}, data.Values([]uint8{1})},
		"nothing in a list": {vision.Compose{vision.RandomGray{P: 1}, vision.Resize{}}, x},
	} {
		if _, err := c.f.Apply(c.x, rand.New(rand.NewPCG(1, 2))); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func ExampleFirst() {
	white := data.Values(bytes.Repeat([]uint8{255}, 6*8*3), 6, 8, 3)
	set := data.FromSlice([]data.Sample{{white, data.Scalar(int32(7))}})
	set = set.Map(vision.First(
		vision.RandomCrop{Size: image.Size{Width: 4}},
		vision.RandomFlipLeftRight{},
		vision.ToTensor{},
		vision.Normalize{Mean: []float64{0.5}, Std: []float64{0.5}}))
	for batch, err := range data.NewLoader(set, 1).Batches(context.Background()) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%v %d\n", batch.Data.Shape(), batch.Label)
	}
	// Output: (1, 3, 4, 4) [7]
}
