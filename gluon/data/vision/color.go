package vision

import (
	"math"
	"math/rand/v2"

	"gomx/gluon/data"
	"gomx/io/image"
)

// The transforms of this file change the colors of pictures of shape (height, width, channels).
// Results for uint8 are limited to 0 to 255 and rounded down. Pictures of one channel have no
// saturation and no hue: these do not change.

// RandomBrightness multiplies a picture by a random factor.
type RandomBrightness struct {
	Most float64 // largest difference of the factor from 1
}

// Apply implements Transform.
func (a RandomBrightness) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	return recolored("RandomBrightness", t, func(m *image.Floats) {
		factor := factorWithin(a.Most, r)
		for i := range m.Pix {
			m.Pix[i] *= factor
		}
	})
}

// factorWithin draws a factor that differs from 1 by at most a number; it is not negative.
func factorWithin(most float64, r *rand.Rand) float32 {
	low := max(0, 1-most)
	return float32(low + r.Float64()*(1+most-low))
}

// RandomContrast multiplies the differences to the mean luminance by a random factor.
type RandomContrast struct {
	Most float64 // largest difference of the factor from 1
}

// Apply implements Transform.
func (a RandomContrast) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	return recolored("RandomContrast", t, func(m *image.Floats) {
		sum, n := 0.0, m.Height*m.Width
		for i := range n {
			sum += float64(luminance(m.Pix[i*m.Channels:], m.Channels))
		}
		factor := factorWithin(a.Most, r)
		add := (1 - factor) * float32(sum/float64(n))
		for i, v := range m.Pix {
			m.Pix[i] = v*factor + add
		}
	})
}

// luminance returns the luminance of a pixel.
func luminance(p []float32, channels int) float32 {
	if channels < 3 {
		return p[0]
	}
	return 0.299*p[0] + 0.587*p[1] + 0.114*p[2]
}

// RandomSaturation multiplies the differences of a pixel's colors to its luminance by a random
// factor.
type RandomSaturation struct {
	Most float64 // largest difference of the factor from 1
}

// Apply implements Transform.
func (a RandomSaturation) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	return recolored("RandomSaturation", t, func(m *image.Floats) {
		factor := factorWithin(a.Most, r)
		colors(m, func(p []float32) {
			add := (1 - factor) * luminance(p, 3)
			p[0], p[1], p[2] = p[0]*factor+add, p[1]*factor+add, p[2]*factor+add
		})
	})
}

// colors calls f with the colors of every pixel, if the picture has colors.
func colors(m *image.Floats, f func(p []float32)) {
	if m.Channels < 3 {
		return
	}
	for i := 0; i < len(m.Pix); i += m.Channels {
		f(m.Pix[i : i+3 : i+3])
	}
}

// RandomHue turns the circle of colors by a random angle.
type RandomHue struct {
	Most float64 // largest angle, in parts of the circle
}

// Apply implements Transform.
func (a RandomHue) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	return recolored("RandomHue", t, func(m *image.Floats) {
		turn := factorWithin(a.Most, r) - 1
		colors(m, func(p []float32) { turnHue(p, turn) })
	})
}

// turnHue turns the hue of a pixel in the space of hue, lightness and saturation.
func turnHue(p []float32, turn float32) {
	top, bottom := max(p[0], p[1], p[2]), min(p[0], p[1], p[2])
	chroma := top - bottom
	if chroma <= 0 {
		return
	}
	var hue float32 // sixths of the circle
	switch top {
	case p[0]:
		hue = (p[1] - p[2]) / chroma
	case p[1]:
		hue = (p[2]-p[0])/chroma + 2
	default:
		hue = (p[0]-p[1])/chroma + 4
	}
	hue += 6 * turn
	for k := range p {
		// Distance from the middle of the sector in which the channel is at its top.
		d := math.Mod(float64(hue)-2*float64(k)+12, 6)
		p[k] = bottom + chroma*float32(min(max(2-min(d, 6-d), 0), 1))
	}
}

// RandomColorJitter changes brightness, contrast, saturation and hue in random order. A change of 0
// is left out.
type RandomColorJitter struct{ Brightness, Contrast, Saturation, Hue float64 }

// Apply implements Transform.
func (a RandomColorJitter) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	changes := [4]Transform{RandomBrightness{a.Brightness}, RandomContrast{a.Contrast},
		RandomSaturation{a.Saturation}, RandomHue{a.Hue}}
	most := [4]float64{a.Brightness, a.Contrast, a.Saturation, a.Hue}
	for _, i := range r.Perm(4) {
		if most[i] > 0 {
			var err error
			if t, err = changes[i].Apply(t, r); err != nil {
				return t, err
			}
		}
	}
	return t, nil
}

// RandomLighting adds noise along the principal components of ImageNet's colors.
type RandomLighting struct {
	Alpha float64 // standard deviation, in parts of each component's own
}

// Apply implements Transform.
func (a RandomLighting) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	return recolored("RandomLighting", t, func(m *image.Floats) {
		if m.Channels >= 3 {
			image.LightingAug{Std: a.Alpha}.Apply(m, r) // in place; it fails for one channel only
		}
	})
}

// RandomGray replaces colors by luminance at random.
type RandomGray struct{ P float64 } // probability; 0: 0.5

// Apply implements Transform.
func (a RandomGray) Apply(t data.Tensor, r *rand.Rand) (data.Tensor, error) {
	if r.Float64() >= half(a.P) {
		return t, nil
	}
	return recolored("RandomGray", t, func(m *image.Floats) {
		colors(m, func(p []float32) {
			v := 0.2126*p[0] + 0.7152*p[1] + 0.0722*p[2]
			p[0], p[1], p[2] = v, v, v
		})
	})
}

// recolored calls f with a copy of each picture in float32, and returns the result in the type of
// t.
func recolored(name string, t data.Tensor, f func(m *image.Floats)) (data.Tensor, error) {
	return eachPicture(name, t, func(m image.Picture) (image.Picture, error) {
		h, w, c := m.Bounds()
		if bytes, ok := m.(*image.Image); ok {
			floats := bytes.Float()
			f(floats)
			out := image.New(h, w, c)
			for i, v := range floats.Pix {
				out.Pix[i] = uint8(min(max(v, 0), 255))
			}
			return out, nil
		}
		out := m.Float().Crop(0, 0, w, h) // a copy
		f(out)
		return out, nil
	})
}
