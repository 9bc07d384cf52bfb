package image_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/io/image"
)

// scene draws white objects on black and returns their boxes.
func scene(r *rand.Rand) (*image.Image, image.Objects) {
	m := image.New(60+r.IntN(40), 60+r.IntN(40), 3)
	o := image.Objects{Width: 6}
	for id := range 1 + r.IntN(2) { // in the upper and in the lower half
		h := m.Height/2 - 2
		at := image.Rect{X: r.IntN(m.Width / 2), Y: id*m.Height/2 + r.IntN(h/2),
			Width: m.Width/4 + r.IntN(m.Width/4), Height: h/4 + r.IntN(h/4)}
		for y := range at.Height {
			for x := range at.Width {
				copy(m.At(at.X+x, at.Y+y), []uint8{255, 255, 255})
			}
		}
		w, h2 := float32(m.Width), float32(m.Height)
		o.Values = append(o.Values, float32(id), float32(at.X)/w, float32(at.Y)/h2,
			float32(at.X+at.Width)/w, float32(at.Y+at.Height)/h2, 7)
	}
	return m, o
}

// checkBoxes compares the boxes of objects with the white pixels of the picture.
func checkBoxes(t *testing.T, name string, m image.Picture, o image.Objects) {
	t.Helper()
	f := m.Float()
	if o.Len() == 0 {
		t.Fatalf("%s: no objects are left", name)
	}
	inside := 0.0
	for i := range o.Len() {
		b := o.Row(i)
		left, top, right, bottom := float64(b[1])*float64(f.Width), float64(b[2])*float64(f.Height),
			float64(b[3])*float64(f.Width), float64(b[4])*float64(f.Height)
		white := 0.0
		for y := max(0, int(top)); y < min(f.Height, int(math.Ceil(bottom))); y++ {
			for x := max(0, int(left)); x < min(f.Width, int(math.Ceil(right))); x++ {
				white += float64(f.Pix[(y*f.Width+x)*3]) / 255
			}
		}
		inside += white
		area, edge := (right-left)*(bottom-top), 2*(right-left+bottom-top)+4
		if math.Abs(white-area) > edge || b[5] != 7 {
			t.Fatalf("%s: object %v of a picture of %d×%d has %.0f white pixels, want about %.0f",
				name, b, f.Width, f.Height, white, area)
		}
	}
}

// TestDetAugmenters checks that objects move with their pictures.
func TestDetAugmenters(t *testing.T) {
	crop := image.DetRandomCropAug{Area: [2]float64{0.3, 1}, MinObjectCovered: 0.5}
	list := map[string]image.DetAugmenter{
		"flip": image.DetHorizontalFlipAug{1}, "crop": crop,
		"pad":  image.DetRandomPadAug{Values: []float64{0}},
		"skip": image.DetRandomSelectAug{[]image.DetAugmenter{crop}, 1},
	}
	created, err := image.CreateDetAugmenter(image.DetAugmentConfig{AugmentConfig: image.AugmentConfig{
		Size: image.Size{Width: 70, Height: 64}, RandMirror: true, Resize: 80, Interp: image.Linear},
		RandCrop: 0.7, RandPad: 0.5, Pad: image.DetRandomPadAug{Values: []float64{0}},
		Crop: image.MultiCropConfig{MinObjectCovered: []float64{0.3, 0.7},
			Area: [][2]float64{{0.2, 3}}}})
	if err != nil {
		t.Fatal(err)
	}
	list["created"] = created
	for name, a := range list {
		changed := 0
		for seed := range uint64(60) {
			r := rand.New(rand.NewPCG(seed, 3))
			m, o := scene(r)
			before := slices.Clone(o.Values)
			p, o, err := a.ApplyDet(m, o, r)
			if err != nil {
				t.Fatal(err)
			}
			checkBoxes(t, fmt.Sprintf("%s, seed %d", name, seed), p, o)
			if !slices.Equal(before, o.Values) {
				changed++
			}
		}
		if (changed == 0) != (name == "skip") {
			t.Errorf("%s changes the objects of %d pictures of 60", name, changed)
		}
	}
}

// TestDetAugment does the same for the augmenter of ImageDetRecordIter.
func TestDetAugment(t *testing.T) {
	for name, a := range map[string]image.DetAugment{
		"mirror": {MirrorP: 1}, "pad": {PadP: 1, MaxPadScale: 2, Fill: new(uint8)},
		"crop": {CropP: 1, Crops: []image.DetCrop{{Scale: [2]float64{0.5, 1},
			Aspect: [2]float64{0.5, 2}, ObjectCoverage: [2]float64{0.6, 1}}}},
		"overlap": {CropP: 1, ByOverlap: true, EmitOverlap: 0.5, Resize: 200,
			Crops: []image.DetCrop{{Overlap: [2]float64{0.1, 1}, Scale: [2]float64{0.4, 1}},
				{Scale: [2]float64{0.3, 0.9}, Trials: 3}}},
		"fit":    {Fit: image.FitInside, MirrorP: 0.5},
		"shrink": {Fit: image.Shrink, Interp: image.Auto},
	} {
		if err := a.Validate(); err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(60) {
			r := rand.New(rand.NewPCG(seed, 4))
			m, o := scene(r)
			m, o = a.Apply(m, o, 80, 72, r)
			checkBoxes(t, fmt.Sprintf("%s, seed %d", name, seed), m, o)
			if m.Width > 80 || m.Height > 72 || a.Fit == image.Force && (m.Width != 80 ||
				m.Height != 72) {
				t.Fatalf("%s, seed %d: %d×%d pixels", name, seed, m.Width, m.Height)
			}
		}
	}
	// Colors change with their probability, and black stays black under contrast.
	colors, changed := image.DetAugment{Contrast: image.DetShift{Most: 0.5, P: 0.5},
		Lightness: image.DetShift{Most: 40, P: 0.3}}, 0
	for seed := range uint64(200) {
		m := image.New(2, 2, 3)
		for i := range m.Pix {
			m.Pix[i] = 100
		}
		if m, _ = colors.Apply(m, image.Objects{Width: 5}, 2, 2, rand.New(rand.NewPCG(seed,
			1))); m.Pix[0] != 100 {
			changed++
		}
	}
	if changed < 90 || changed > 165 {
		t.Errorf("colors of %d pictures of 200 change, want about 130", changed)
	}
}

func TestObjectsOf(t *testing.T) {
	o, head, err := image.ObjectsOf([]float32{3, 5, 9, 1, .1, .2, .3, .4, 2, .5, .5, .5, .6})
	if err != nil || !slices.Equal(head, []float32{3, 5, 9}) || o.Len() != 1 || o.Row(0)[0] != 1 {
		t.Errorf("got %v after %v, %v; want one object after three numbers", o, head, err)
	}
	for _, label := range [][]float32{nil, {2, 5, 1, 0, 0, 1}, {1, 5, 1, 0, 0, 1, 1},
		{2, 4, 1, 0, 0, 1}, {2, 5, 1, 0, 0, 1, 1, 1}, {20, 5, 1, 0, 0, 1, 1},
		{float32(math.NaN()), 5, 1, 0, 0, 1, 1}, {2, float32(math.Inf(1)), 1, 0, 0, 1, 1}} {
		if _, _, err := image.ObjectsOf(label); err == nil {
			t.Errorf("%v: no error", label)
		}
	}
}

func TestDetMistakes(t *testing.T) {
	m, o := scene(rand.New(rand.NewPCG(1, 1)))
	for _, a := range []image.DetAugmenter{image.DetRandomCropAug{Area: [2]float64{1, 0.5}},
		image.DetRandomCropAug{Ratio: [2]float64{-1, 1}},
		image.DetRandomPadAug{Area: [2]float64{3, 2}},
		image.DetSequentialAug{image.DetBorrowAug{image.ResizeAug{}}}} {
		if _, _, err := a.ApplyDet(m, o, rand.New(rand.NewPCG(1, 1))); err == nil {
			t.Errorf("%#v: no error", a)
		}
	}
	for _, c := range []image.MultiCropConfig{{MaxAttempts: []int{1, 2, 3},
		MinObjectCovered: []float64{1, 2}}, {Area: [][2]float64{{2, 1}}}} {
		if _, err := image.CreateDetAugmenter(image.DetAugmentConfig{RandCrop: 1,
			Crop: c}); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
	for _, a := range []image.DetAugment{{Resize: -1}, {Fit: 9}, {Crops: []image.DetCrop{{
		Scale: [2]float64{0.5, 2}}}}, {Crops: []image.DetCrop{{Trials: -1}}}} {
		if a.Validate() == nil {
			t.Errorf("%+v: no error", a)
		}
	}
}
