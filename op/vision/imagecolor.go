package vision

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/philox"
)

// AdjustLightingParams configures ImageAdjustLighting.
type AdjustLightingParams struct {
	Alpha []float64 `op:"alpha,required" doc:"three factors of the principal components of colors"`
}

// RandomFactorParams configures the operators that draw one factor.
type RandomFactorParams struct {
	MinFactor op.Opt[float64] `op:"min_factor,required" min:"0" doc:"least factor"`
	MaxFactor op.Opt[float64] `op:"max_factor,required" min:"0" doc:"largest factor"`
}

// RandomColorJitterParams configures ImageRandomColorJitter.
type RandomColorJitterParams struct {
	Brightness op.Opt[float64] `op:"brightness,required" doc:"largest change of the factor of the brightness from 1; 0 and less: none"`
	Contrast   op.Opt[float64] `op:"contrast,required" doc:"largest change of the factor of the contrast from 1; 0 and less: none"`
	Saturation op.Opt[float64] `op:"saturation,required" doc:"largest change of the factor of the saturation from 1; 0 and less: none"`
	Hue        op.Opt[float64] `op:"hue,required" doc:"largest turn of the hue in circles; 0 and less: none"`
}

// RandomLightingParams configures ImageRandomLighting.
type RandomLightingParams struct {
	AlphaStd op.Opt[float64] `op:"alpha_std" default:"0.05" doc:"standard deviation of the factors of the principal components"`
}

// The operators that change the colors of images.
var (
	ImageAdjustLighting    = op.Declare[AdjustLightingParams]("_image_adjust_lighting")
	ImageRandomBrightness  = op.Declare[RandomFactorParams]("_image_random_brightness")
	ImageRandomContrast    = op.Declare[RandomFactorParams]("_image_random_contrast")
	ImageRandomSaturation  = op.Declare[RandomFactorParams]("_image_random_saturation")
	ImageRandomHue         = op.Declare[RandomFactorParams]("_image_random_hue")
	ImageRandomColorJitter = op.Declare[RandomColorJitterParams]("_image_random_color_jitter")
	ImageRandomLighting    = op.Declare[RandomLightingParams]("_image_random_lighting")
)

// factorOps are the operators that draw one factor.
var factorOps = []struct {
	h    op.Handle[RandomFactorParams]
	kind changeKind
	doc  string
}{
	{ImageRandomBrightness, brightness,
		"ImageRandomBrightness multiplies all elements by a random factor."},
	{ImageRandomContrast, contrast, "ImageRandomContrast multiplies the differences of all " +
		"elements and the mean grey value by a random factor."},
	{ImageRandomSaturation, saturation, "ImageRandomSaturation multiplies the differences of " +
		"all elements and a grey value by a random factor. As in MXNet the grey value is 0.114 " +
		"times the last channel."},
	{ImageRandomHue, hue, "ImageRandomHue turns the hue of all pixels by a random part of a " +
		"circle."},
}

func init() {
	defineColors(ImageAdjustLighting, "ImageAdjustLighting adds the same amount of principal "+
		"components to the colors of all pixels (Krizhevsky et al. 2012).", false,
		AdjustLightingParams.changes, func(p AdjustLightingParams) error {
			if len(p.Alpha) != 3 {
				return op.Errorf("alpha", "%v, want 3 numbers", p.Alpha)
			}
			return nil
		})
	for _, f := range factorOps {
		defineColors(f.h, f.doc, true, f.kind.draw, func(p RandomFactorParams) error {
			if low, high := p.MinFactor.Value(), p.MaxFactor.Value(); low > high {
				return op.Errorf("min_factor", "%v, want at most max_factor %v", low, high)
			}
			return nil
		})
	}
	defineColors(ImageRandomColorJitter, "ImageRandomColorJitter changes brightness, contrast, "+
		"saturation and hue in random order.", true, RandomColorJitterParams.changes, nil)
	defineColors(ImageRandomLighting, "ImageRandomLighting adds random amounts of principal "+
		"components to the colors of all pixels.", true, RandomLightingParams.changes, nil)
}

func (p AdjustLightingParams) changes(op.Seed) []change {
	return []change{lightingChange([3]float64(p.Alpha), 1)}
}

// draw draws the factor of a change.
func (k changeKind) draw(p RandomFactorParams, s op.Seed) []change {
	low, high := float32(p.MinFactor.Value()), float32(p.MaxFactor.Value())
	return []change{{k, [3]float32{within(low, high, philox.Block(s, 0, 0)[0])}}}
}

func (p RandomLightingParams) changes(s op.Seed) []change {
	var alpha [3]float64
	philox.Normal(alpha[:], s, 0)
	return []change{lightingChange(alpha, narrow[float32](p.AlphaStd.Value()))}
}

// within maps a random word to [low, high).
func within(low, high float32, word uint32) float32 {
	return low + float32((high-low)*float32(philox.Unit(word)))
}

// defineColors defines an operator that changes an image in steps, which changes draws.
func defineColors[P any](h op.Handle[P], doc string, random bool, changes func(p P,
	s op.Seed) []change, check func(p P) error) {
	h.Define(op.Spec[P]{
		Traits: op.Traits{Doc: doc + `

Data has shape (h, w, c) with 1 or 3 channels: red, green, blue. Computation is in float32; bytes are
limited to 0 … 255, and whole numbers lose their fractions. Images of 1 channel have no colors that
hue, saturation or lighting change. Gradients pass unchanged.`, Aliases: []string{"_npx_" + h.Name}, Random: random, Inplace: [][2]int{{0, 0}}},
		Infer: inferPicture[P],
		Check: check,
		Grad: func(g *op.Grad, _ P) []op.Entry {
			return []op.Entry{g.Head(0)}
		},
		Ref: func(p P, c *op.Call) error {
			from := c.In[0]
			for _, step := range changes(p, c.Seed) {
				x := pixels(from)
				step.apply(x, c.In[0].Shape[2])
				storePixels(c.Out[0], x)
				from = c.Out[0]
			}
			loop.Move(c.Out[0], from)
			return nil
		},
	})
}

// inferPicture infers the shape (h, w, c) of an image with 1 or 3 channels.
func inferPicture[P any](p P, in, out []dtype.Shape) error {
	if err := op.SameShape(p, in[:1], out[:1]); err != nil {
		return err
	}
	if s := in[0]; s != nil && (len(s) != 3 || s[2] != -1 && s[2] != 1 && s[2] != 3) {
		return op.Errorf("data", "shape %v, want (h, w, c) with 1 or 3 channels", s)
	}
	return nil
}

// changes draws the steps: a word for the order, and one for each factor.
func (p RandomColorJitterParams) changes(s op.Seed) (list []change) {
	words := philox.Block(s, 0, 0)
	order := philox.Block(s, 1, 0)
	steps := []struct {
		kind  changeKind
		most  float64
		shift float32
	}{{brightness, p.Brightness.Value(), 1}, {contrast, p.Contrast.Value(), 1},
		{saturation, p.Saturation.Value(), 1}, {hue, p.Hue.Value(), 0}}
	for i := len(steps) - 1; i > 0; i-- {
		k := int(uint64(order[i]) * uint64(i+1) >> 32)
		steps[i], steps[k] = steps[k], steps[i]
	}
	for _, c := range steps {
		if most := float32(c.most); most > 0 {
			list = append(list, change{c.kind,
				[3]float32{c.shift + within(-most, most, words[c.kind])}})
		}
	}
	return list
}

// pixels returns a copy of the elements.
func pixels(t op.Tensor) []float32 {
	x := make([]float32, t.Shape.Size())
	for i, v := range loop.Floats(t) {
		x[i] = float32(v)
	}
	return x
}

// storePixels writes elements to t, bytes within their limits.
func storePixels(t op.Tensor, x []float32) {
	switch t.DType {
	case dtype.Uint8:
		bytes := op.Slice[uint8](t)
		for i, v := range x {
			bytes[i] = uint8(min(max(v, 0), 255))
		}
	case dtype.Float32:
		copy(op.Slice[float32](t), x)
	default:
		store(t, x)
	}
}

// changeKind says what a change does.
type changeKind int

const (
	brightness changeKind = iota
	contrast
	saturation
	hue
	lighting
)

// change is one step: a factor, or what lighting adds to each channel.
type change struct {
	kind   changeKind
	factor [3]float32
}

// grey are the shares of the channels in the grey value.
var grey = [3]float32{0.299, 0.587, 0.114}

// components are the principal components of the colors of ImageNet, each times its deviation.
var components = [3][3]float32{
	{55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009},
	{55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140},
	{55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203},
}

// lightingChange returns the change for factors of the principal components, times scale.
func lightingChange(alpha [3]float64, scale float32) change {
	c := change{kind: lighting}
	for i, row := range components {
		for k, v := range row {
			c.factor[i] += float32(v * float32(float32(alpha[k])*scale))
		}
	}
	return c
}

// apply changes the elements of an image.
func (c change) apply(x []float32, channels int) {
	if channels == 1 && c.kind >= saturation {
		return
	}
	alpha := c.factor[0]
	switch c.kind {
	case brightness:
		for i, v := range x {
			x[i] = v * alpha
		}
	case contrast:
		beta := float32(1-alpha) * meanGrey(x, channels)
		for i, v := range x {
			x[i] = float32(v*alpha) + beta
		}
	case saturation:
		for ; len(x) > 0; x = x[3:] {
			last := float32(x[2]*grey[2]) * (1 - alpha)
			for k := range 3 {
				x[k] = last + float32(x[k]*alpha)
			}
		}
	case hue:
		for ; len(x) > 0; x = x[3:] {
			h, l, s := hls(x[0], x[1], x[2])
			x[0], x[1], x[2] = rgb(h+float32(alpha*360), l, s)
		}
	case lighting:
		for i, v := range x {
			x[i] = v + c.factor[i%3]
		}
	}
}

// meanGrey returns the mean grey value, summed up in float32.
func meanGrey(x []float32, channels int) float32 {
	var sum float32
	for i, v := range x {
		if channels > 1 {
			v = float32(v * grey[i%3])
		}
		sum += v
	}
	return sum / float32(len(x)/channels)
}

// one returns 1 where a condition holds, else 0.
func one(cond bool) float32 {
	if cond {
		return 1
	}
	return 0
}

// hls returns hue in degrees, lightness and saturation of a color with elements from 0 to 255.
func hls(red, green, blue float32) (h, l, s float32) {
	r, g, b := red/255, green/255, blue/255
	most, least := max(r, g, b), min(r, g, b)
	diff := most - least
	l = (most + least) * 0.5
	if !(diff > 0x1p-23) {
		return 0, l, 0
	}
	s = float32(one(l < 0.5)*diff)/(most+least) + float32(one(l >= 0.5)*diff)/(2-most-least)
	diff = 60 / diff
	switch most {
	case r:
		h = float32((g - b) * diff)
	case g:
		h = float32((b-r)*diff) + 120
	default:
		h = float32((r-g)*diff) + 240
	}
	if h < 0 {
		h += 360
	}
	return h, l, s
}

// sectors lists, for each sixth of the circle of hues, the sources of blue, green and red.
var sectors = [6][3]int{{1, 3, 0}, {1, 0, 2}, {3, 0, 1}, {0, 2, 1}, {0, 1, 3}, {2, 1, 0}}

// rgb is the inverse of hls, for any hue.
func rgb(h, l, s float32) (red, green, blue float32) {
	if s == 0 {
		return l * 255, l * 255, l * 255
	}
	high := float32(l * (1 + s))
	if !(l <= 0.5) {
		high = l + s - float32(l*s)
	}
	low := 2*l - high
	h = float32(math.Mod(float64(h*(1./60)), 6))
	if h < 0 {
		h += 6
	}
	sector := 0
	if h < 6 {
		sector = int(h)
	}
	h -= float32(sector)
	from := [4]float32{high, low, low + float32((high-low)*(1-h)), low + float32((high-low)*h)}
	at := sectors[sector]
	return from[at[2]] * 255, from[at[1]] * 255, from[at[0]] * 255
}
