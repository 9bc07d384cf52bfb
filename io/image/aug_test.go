package image_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gomx/io/image"
)

// numbered returns a picture whose red is the column and whose green is the row.
func numbered(width, height int) *image.Image {
	m := image.New(height, width, 3)
	for i := range width * height {
		m.Pix[3*i], m.Pix[3*i+1], m.Pix[3*i+2] = uint8(i%width), uint8(i/width), 7
	}
	return m
}

func apply(t *testing.T, a image.Augmenter, m image.Picture, seed uint64) image.Picture {
	t.Helper()
	out, err := a.Apply(m, rand.New(rand.NewPCG(seed, 0)))
	if err != nil {
		t.Fatalf("%#v: %v", a, err)
	}
	return out
}

func TestRandomCrops(t *testing.T) {
	places := map[[2]uint8]bool{}
	for seed := range uint64(200) {
		m := apply(t, image.RandomCropAug{Size: image.Size{Width: 4}}, numbered(6, 5),
			seed).(*image.Image)
		if m.Width != 4 || m.Height != 4 || m.At(3, 3)[0] != m.Pix[0]+3 || m.At(3, 3)[1] !=
			m.Pix[1]+3 {
			t.Fatalf("seed %d: %v", seed, m)
		}
		places[[2]uint8{m.Pix[0], m.Pix[1]}] = true
	}
	if len(places) != 6 {
		t.Errorf("crops at %v, want 3 columns of 2 rows", places)
	}
	for seed := range uint64(100) {
		a := image.RandomSizedCropAug{Size: image.Size{Width: 5, Height: 7},
			Area: [2]float64{0.2, 0.5}, Ratio: [2]float64{0.5, 2}}
		m, at, err := a.Crop(numbered(40, 30), rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			t.Fatal(err)
		}
		h, w, _ := m.Bounds()
		area, ratio := float64(at.Width*at.Height)/1200, float64(at.Width)/float64(at.Height)
		if w != 5 || h != 7 || area < 0.18 || area > 0.53 || ratio < 0.45 || ratio > 2.2 ||
			at.X+at.Width > 40 || at.Y+at.Height > 30 {
			t.Errorf("seed %d: %d×%d from %+v", seed, w, h, at)
		}
	}
	// No part has four times the area of the picture, so that the middle is used.
	a := image.RandomSizedCropAug{Size: image.Size{Width: 4}, Area: [2]float64{4, 4}}
	if _, at, err := a.Crop(numbered(6, 5), rand.New(rand.NewPCG(1, 0))); err != nil ||
		at != (image.Rect{X: 1, Y: 0, Width: 4, Height: 4}) {
		t.Errorf("too large: %v, %v", at, err)
	}
}

// TestJitters checks random changes of colors by their limits.
func TestJitters(t *testing.T) {
	pixel := func() *image.Floats {
		return &image.Floats{Pix: []float32{100, 50, 20, 10, 20, 30}, Height: 1, Width: 2,
			Channels: 3}
	}
	luminance := func(p []float32) float64 {
		return 0.299*float64(p[0]) + 0.587*float64(p[1]) + 0.114*float64(p[2])
	}
	mean := (luminance(pixel().Pix) + luminance(pixel().Pix[3:])) / 2
	seen := map[string]float64{}
	for seed := range uint64(300) {
		factor := map[string]float64{}
		b := apply(t, image.BrightnessJitterAug{0.5}, pixel(), seed).Float().Pix
		factor["brightness"] = float64(b[0]) / 100
		c := apply(t, image.ContrastJitterAug{0.5}, pixel(), seed).Float().Pix
		factor["contrast"] = (float64(c[0]) - mean) / (100 - mean)
		s := apply(t, image.SaturationJitterAug{0.5}, pixel(), seed).Float().Pix
		factor["saturation"] = float64(s[0]-s[2]) / 80
		if math.Abs(luminance(s)-luminance(pixel().Pix)) > 0.05 {
			t.Errorf("seed %d: saturation changes the luminance to %v", seed, luminance(s))
		}
		h := apply(t, image.HueJitterAug{0.5}, pixel(), seed).Float().Pix
		if math.Abs(luminance(h)-luminance(pixel().Pix)) > 1 {
			t.Errorf("seed %d: hue changes the luminance to %v", seed, luminance(h))
		}
		for name, f := range factor {
			if f < 0.499 || f > 1.501 {
				t.Errorf("seed %d: %s by %v, want 0.5 to 1.5", seed, name, f)
			}
			seen[name] = max(seen[name], math.Abs(f-1))
		}
	}
	for name, most := range seen {
		if most < 0.45 {
			t.Errorf("%s changes by %v at most in 300 pictures, want nearly 0.5", name, most)
		}
	}
}

// named adds its name to a list.
type named struct {
	name string
	to   *[]string
}

func (n named) Apply(m image.Picture, _ *rand.Rand) (image.Picture, error) {
	*n.to = append(*n.to, n.name)
	return m, nil
}

func TestOrders(t *testing.T) {
	orders := map[string]int{}
	for seed := range uint64(60) {
		var list []string
		apply(t, image.RandomOrderAug{named{"a", &list}, named{"b", &list}, named{"c", &list}},
			numbered(2, 2), seed)
		orders[strings.Join(list, "")]++
	}
	if len(orders) != 6 {
		t.Errorf("orders %v, want all six", orders)
	}
	flips, grays := 0, 0
	for seed := range uint64(400) {
		m := apply(t, image.SequentialAug{image.HorizontalFlipAug{0.25},
			image.RandomGrayAug{0.75}}, numbered(4, 1), seed).Float()
		if m.Pix[2] == m.Pix[0] {
			grays++
		}
		if m.Pix[9] < m.Pix[0] {
			flips++
		}
	}
	if flips < 70 || flips > 130 || grays < 260 || grays > 340 {
		t.Errorf("%d flips and %d grays of 400, want about 100 and 300", flips, grays)
	}
}

func TestCreateAugmenter(t *testing.T) {
	list := image.CreateAugmenter(image.AugmentConfig{Size: image.Size{Width: 3, Height: 2},
		Resize: 5, RandCrop: true, RandResize: true, RandMirror: true, Contrast: 0.1, Hue: 0.1,
		PCANoise: 0.1, RandGray: 0.2, Std: []float64{2}})
	var names []string
	for _, a := range list {
		names = append(names, strings.TrimPrefix(fmt.Sprintf("%T", a), "image."))
	}
	want := []string{"ResizeAug", "RandomSizedCropAug", "HorizontalFlipAug", "CastAug",
		"ColorJitterAug", "HueJitterAug", "LightingAug", "RandomGrayAug", "ColorNormalizeAug"}
	if !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	for seed := range uint64(5) {
		one, two := apply(t, list, numbered(9, 8), seed), apply(t, list, numbered(9, 8), seed)
		if !reflect.DeepEqual(one, two) {
			t.Errorf("seed %d gives two results", seed)
		}
		if h, w, c := one.Bounds(); h != 2 || w != 3 || c != 3 {
			t.Errorf("%d×%d with %d channels", w, h, c)
		}
	}
}

func TestAugmenterMistakes(t *testing.T) {
	gray := image.New(3, 3, 1)
	for _, a := range []image.Augmenter{image.ResizeAug{}, image.ForceResizeAug{},
		image.CenterCropAug{}, image.RandomCropAug{Size: image.Size{Width: -1}},
		image.RandomSizedCropAug{}, image.RandomSizedCropAug{Size: image.Size{Width: 2},
			Ratio: [2]float64{2, 1}}, image.ContrastJitterAug{}, image.SaturationJitterAug{},
		image.HueJitterAug{}, image.LightingAug{}, image.RandomGrayAug{1},
		image.ColorJitterAug{Contrast: 1},
		image.ColorNormalizeAug{Mean: []float64{1, 2, 3}}, image.ColorNormalizeAug{
			Std: []float64{1, 2}},
		image.SequentialAug{image.ResizeAug{}}, image.RandomOrderAug{image.ResizeAug{}}} {
		if _, err := a.Apply(gray, rand.New(rand.NewPCG(1, 2))); err == nil {
			t.Errorf("%#v of one channel: no error", a)
		}
	}
	for _, b := range []image.Border{{Top: -1}, {Extension: 5}} {
		if _, err := image.AddBorder(gray, b); err == nil {
			t.Errorf("%+v: no error", b)
		}
	}
}

// TestRotate turns by right angles, where the result is known.
func TestRotate(t *testing.T) {
	m := numbered(5, 5).Float()
	for turns, want := range [][2]float32{{0, 0}, {4, 0}, {4, 4}, {0, 4}} {
		out := m.Rotate(float64(90*turns), image.KeepScale)
		got := [2]float32{out.Pix[0], out.Pix[1]}
		if math.Abs(float64(got[0]-want[0])) > 1e-4 || math.Abs(float64(got[1]-want[1])) > 1e-4 {
			t.Errorf("%d turns: the upper left corner is from %v, want %v", turns, got, want)
		}
	}
	for _, degrees := range []float64{30, -45, 100} {
		in, out := m.Rotate(degrees, image.ZoomIn), m.Rotate(degrees, image.ZoomOut)
		if in.Pix[2] < 6.99 || out.Pix[2] > 6.9 {
			t.Errorf("%v degrees: blue of the corner %v zoomed in and %v zoomed out, want 7 "+
				"and less", degrees, in.Pix[2], out.Pix[2])
		}
	}
}

func ExampleCreateAugmenter() {
	augment := image.CreateAugmenter(image.AugmentConfig{Size: image.Size{Width: 4, Height: 3},
		RandCrop: true, RandMirror: true, Brightness: 0.1, Mean: []float64{100}})
	m, err := augment.Apply(image.New(10, 12, 3), rand.New(rand.NewPCG(7, 0)))
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Bounds())
	fmt.Println(m.Float().Pix[0])
	// Output:
	// 3 4 3
	// -100
}
