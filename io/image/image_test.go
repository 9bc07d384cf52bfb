package image_test

import (
	"bytes"
	"fmt"
	stdimage "image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gomx/io/image"
)

// noise returns a picture of random samples, smooth enough to be resized.
func noise(seed uint64, height, width, channels int) *image.Image {
	r := rand.New(rand.NewPCG(seed, 1))
	m := image.New(height, width, channels)
	phase := []float64{r.Float64() * 6, r.Float64() * 6, r.Float64() * 6, r.Float64() * 6}
	for y := range height {
		for x := range width {
			for k, p := 0, m.At(x, y); k < channels; k++ {
				p[k] = uint8(128 + 100*math.Sin(float64(x)/5+phase[k])*math.Cos(
					float64(y)/7+phase[k]) + 20*r.Float64())
			}
		}
	}
	return m
}

// encode writes a picture with four channels as a PNG.
func encode(t testing.TB, m *image.Image) []byte {
	t.Helper()
	src := &stdimage.NRGBA{Pix: m.Pix, Stride: 4 * m.Width, Rect: stdimage.Rect(0, 0, m.Width,
		m.Height)}
	var b bytes.Buffer
	if err := png.Encode(&b, src); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDecodeModes(t *testing.T) {
	m := noise(1, 9, 14, 4)
	data := encode(t, m)
	for _, mode := range []image.Mode{image.Gray, image.RGB, image.RGBA} {
		got, err := image.Decode(data, mode)
		if err != nil {
			t.Fatal(err)
		}
		if got.Height != 9 || got.Width != 14 || got.Channels != int(mode) {
			t.Fatalf("mode %d: %d×%d×%d", mode, got.Height, got.Width, got.Channels)
		}
		for y := range 9 {
			for x := range 14 {
				g, want := got.At(x, y), m.At(x, y)
				if mode == image.Gray {
					if l := 0.299*float64(want[0]) + 0.587*float64(want[1]) +
						0.114*float64(want[2]); math.Abs(l-float64(g[0])) > 1 {
						t.Fatalf("luminance of %v is %d, want %v", want, g[0], l)
					}
				} else if !slices.Equal(g, want[:mode]) {
					t.Fatalf("mode %d: pixel (%d, %d) is %v, want %v: transparency must not darken",
						mode, x, y, g, want[:mode])
				}
			}
		}
	}
}

// TestJPEG wants a picture of one color to come back in it, and chroma at half the resolution to be
// interpolated.
func TestJPEG(t *testing.T) {
	src := stdimage.NewRGBA(stdimage.Rect(0, 0, 33, 17))
	for i := range src.Pix {
		src.Pix[i] = []uint8{200, 40, 90, 255}[i%4]
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, src, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	m, err := image.Decode(b.Bytes(), image.RGB)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range m.Pix {
		if want := []uint8{200, 40, 90}[i%3]; max(v, want)-min(v, want) > 4 {
			t.Fatalf("sample %d is %d, want %d", i, v, want)
		}
	}
}

func TestBadFiles(t *testing.T) {
	good := encode(t, noise(2, 40, 40, 4))
	var b bytes.Buffer
	if err := jpeg.Encode(&b, stdimage.NewGray(stdimage.Rect(0, 0, 8, 8)), nil); err != nil {
		t.Fatal(err)
	}
	claims := b.Bytes()
	copy(claims[bytes.Index(claims, []byte{0xff, 0xc0})+5:], "\xff\xff\xff\xff") // height and width
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":   {nil, "want a picture"},
		"text":      {[]byte("a text that is no picture"), "want a picture"},
		"truncated": {good[:len(good)/2], "png"},
		"huge":      {claims, "claims 65535×65535"},
	} {
		if _, err := image.Decode(c.data, image.RGB); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
	if _, err := image.Decode(good, 2); err == nil {
		t.Error("two channels: no error")
	}
}

// FuzzDecode wants files that are no pictures to be errors.
func FuzzDecode(f *testing.F) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, stdimage.NewYCbCr(stdimage.Rect(0, 0, 9, 7),
		stdimage.YCbCrSubsampleRatio420), nil); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(encode(f, noise(3, 4, 5, 4)))
	f.Add([]byte("BM"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, mode := range []image.Mode{image.Gray, image.RGBA} {
			if m, err := image.Decode(data, mode); err == nil &&
				len(m.Pix) != m.Height*m.Width*int(mode) {
				t.Fatalf("%d samples for %d×%d×%d", len(m.Pix), m.Height, m.Width, mode)
			}
		}
	})
}

// kernels of the oracle of Resize, by distance.
var kernels = map[image.Interp]func(d float64) float64{
	image.Linear: func(d float64) float64 { return max(0, 1-math.Abs(d)) },
	image.Cubic: func(d float64) float64 {
		const a = -0.75
		switch d = math.Abs(d); {
		case d < 1:
			return (a+2)*d*d*d - (a+3)*d*d + 1
		case d < 2:
			return a*d*d*d - 5*a*d*d + 8*a*d - 4*a
		}
		return 0
	},
	image.Lanczos: func(d float64) float64 {
		if d == 0 {
			return 1
		}
		if math.Abs(d) >= 4 {
			return 0
		}
		return 4 * math.Sin(math.Pi*d) * math.Sin(math.Pi*d/4) / (math.Pi * math.Pi * d * d)
	},
}

// resizeSlowly sums all pixels under a kernel, borders repeated, or the area of pixels that a
// sample covers.
func resizeSlowly(m *image.Image, width, height int, by image.Interp) []float64 {
	weights := func(n, size, i int) []float64 {
		w, sum, scale := make([]float64, size), 0.0, float64(size)/float64(n)
		for p := -8; p < size+8; p++ {
			v := 0.0
			if by == image.Area {
				v = max(0, min(float64(p+1), float64(i+1)*scale)-max(float64(p), float64(i)*scale))
			} else {
				v = kernels[by]((float64(i)+0.5)*scale - 0.5 - float64(p))
			}
			w[min(max(p, 0), size-1)] += v
			sum += v
		}
		for p := range w {
			w[p] /= sum
		}
		return w
	}
	var out []float64
	for y := range height {
		wy := weights(height, m.Height, y)
		for x := range width {
			wx := weights(width, m.Width, x)
			for k := range m.Channels {
				sum := 0.0
				for j, b := range wy {
					for i, a := range wx {
						if a*b != 0 {
							sum += a * b * float64(m.At(i, j)[k])
						}
					}
				}
				out = append(out, min(max(sum, 0), 255))
			}
		}
	}
	return out
}

func TestResize(t *testing.T) {
	m := noise(4, 23, 31, 3)
	for _, by := range []image.Interp{image.Linear, image.Cubic, image.Lanczos, image.Area} {
		for _, size := range [][2]int{{31, 23}, {40, 61}, {15, 11}, {7, 23}, {1, 1}, {16, 20},
			{62, 46}} {
			if by == image.Area && (size[0] > 31 || size[1] > 23) {
				continue // enlarges as Linear does, in another place
			}
			got, want := m.Resize(size[0], size[1], by), resizeSlowly(m, size[0], size[1], by)
			for i, v := range want {
				if math.Abs(v-float64(got.Pix[i])) > 1.5 {
					t.Fatalf("%v to %v: sample %d is %d, want %v", by, size, i, got.Pix[i], v)
				}
			}
		}
	}
	if got := m.Resize(62, 46, image.Nearest); !slices.Equal(got.At(33, 17), m.At(16, 8)) {
		t.Errorf("nearest: %v, want %v", got.At(33, 17), m.At(16, 8))
	}
	if got := m.ResizeShort(46, image.Linear); got.Height != 46 || got.Width != 62 {
		t.Errorf("the shorter side made 46: %d×%d", got.Width, got.Height)
	}
}

// TestAffine turns a picture by a quarter, and moves one by whole and half pixels.
func TestAffine(t *testing.T) {
	m := noise(5, 10, 10, 1)
	for _, by := range []image.Interp{image.Nearest, image.Linear, image.Cubic, image.Lanczos} {
		turned := m.Affine(image.Matrix{0, 1, 0, -1, 0, 9}, 10, 10, by, 0) // (x, y) → (y, 9-x)
		moved := m.Affine(image.Matrix{1, 0, 3, 0, 1, 2}, 10, 10, by, 77)
		for y := range 10 {
			for x := range 10 {
				if got, want := turned.At(y, 9-x)[0], m.At(x, y)[0]; got != want {
					t.Fatalf("%v: turned pixel is %d, want %d", by, got, want)
				}
				want := uint8(77)
				if x >= 3 && y >= 2 {
					want = m.At(x-3, y-2)[0]
				}
				if got := moved.At(x, y)[0]; got != want {
					t.Fatalf("%v: moved pixel (%d, %d) is %d, want %d", by, x, y, got, want)
				}
			}
		}
	}
	half := m.Affine(image.Matrix{1, 0, 0.5, 0, 1, 0}, 10, 10, image.Linear, 0)
	if got, want := int(half.At(5, 5)[0]),
		(int(m.At(4, 5)[0])+int(m.At(5, 5)[0])+1)/2; got != want {
		t.Errorf("moved by half a pixel: %d, want %d", got, want)
	}
}

// TestAugmentRepeats wants everything that is drawn to depend on the generator, and every picture
// to have the size that was asked for.
func TestAugmentRepeats(t *testing.T) {
	all := []image.Augment{
		{},
		{Resize: 30, RandCrop: true},
		{MaxRotateAngle: 40, MaxShear: 0.3, MinScale: 0.7, MaxScale: 1.4, MaxAspect: 0.2,
			RandCrop: true, Interp: image.Random},
		{RandomResizedCrop: true, MinArea: 0.08, MaxArea: 1, MinAspect: 3. / 4, MaxAspect: 4. / 3,
			Interp: image.Auto},
		{MinCropSize: 10, MaxCropSize: 20, RandCrop: true, Pad: 3, Fill: new(uint8(0))},
		{Brightness: 0.4, Contrast: 0.4, Saturation: 0.4, PCANoise: 0.1, RandomH: 30, RandomS: 50,
			RandomL: 50},
	}
	for i, a := range all {
		if err := a.Validate(); err != nil {
			t.Fatal(err)
		}
		apply := func(seed uint64) *image.Image {
			m, err := a.Apply(noise(6, 33, 27, 3), 24, 20, rand.New(rand.NewPCG(seed, 2)))
			if err != nil {
				t.Fatal(err)
			}
			if m.Width != 24 || m.Height != 20 || m.Channels != 3 {
				t.Fatalf("%d: %d×%d×%d", i, m.Width, m.Height, m.Channels)
			}
			return m
		}
		differ := false
		for seed := range uint64(20) {
			one, again := apply(seed), apply(seed)
			if !bytes.Equal(one.Pix, again.Pix) {
				t.Errorf("%d: seed %d does not repeat", i, seed)
			}
			differ = differ || !bytes.Equal(one.Pix, apply(seed+1).Pix)
		}
		if differ != (i > 0) {
			t.Errorf("%d: pictures differ with the seed: %v", i, differ)
		}
	}
}

func TestAugmentMistakes(t *testing.T) {
	for i, a := range []image.Augment{
		{Resize: -1}, {MinScale: 2, MaxScale: 1}, {MaxAspect: 1}, {MaxArea: 2},
		{MinCropSize: 5, MaxCropSize: 4}, {RandomResizedCrop: true, RandCrop: true},
		{Brightness: -1}, {Interp: 99}, {MinSize: 3, MaxSize: 2}, {Contrast: math.NaN()},
	} {
		if err := a.Validate(); err == nil {
			t.Errorf("%d: %+v is valid", i, a)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	if _, err := (image.Augment{MaxCropSize: 50}).Apply(noise(7, 20, 20, 3), 8, 8, r); err == nil ||
		!strings.Contains(err.Error(), "20×20") {
		t.Errorf("a crop larger than the picture: %v", err)
	}
}

// TestColors wants jitter of nothing to change nothing, and colors of equal luminance to keep it.
func TestColors(t *testing.T) {
	m := noise(8, 12, 12, 3)
	want := bytes.Clone(m.Pix)
	r := rand.New(rand.NewPCG(1, 1))
	got, err := (image.Augment{Brightness: 1e-12, Contrast: 1e-12, Saturation: 1e-12,
		PCANoise: 1e-12}).Apply(m, 12, 12, r)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range want {
		if max(v, got.Pix[i])-min(v, got.Pix[i]) > 1 {
			t.Fatalf("sample %d has become %d, want %d", i, got.Pix[i], v)
		}
	}
}

func ExampleDecode() {
	src := stdimage.NewNRGBA(stdimage.Rect(0, 0, 6, 4))
	src.SetNRGBA(2, 1, color.NRGBA{R: 250, A: 255})
	var file bytes.Buffer
	if err := png.Encode(&file, src); err != nil {
		panic(err)
	}
	m, err := image.Decode(file.Bytes(), image.RGB)
	if err != nil {
		panic(err)
	}
	m = m.Resize(3, 2, image.Area)
	fmt.Println(m.Height, m.Width, m.Channels, m.At(1, 0))
	// Output: 2 3 3 [63 0 0]
}
