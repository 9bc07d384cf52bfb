package image

import (
	"image/color"
	"math"
	"math/rand/v2"
)

// color changes brightness, contrast and saturation in random order, then hue, and adds noise.
func (a *Augment) color(m *Image, r *rand.Rand) {
	if a.Brightness > 0 || a.Contrast > 0 || a.Saturation > 0 {
		brightness, contrast, saturation := 1+between(-a.Brightness, a.Brightness, r),
			1+between(-a.Contrast, a.Contrast, r), 1+between(-a.Saturation, a.Saturation, r)
		for _, i := range r.Perm(3) {
			switch i {
			case 0:
				m.mix(brightness, func([]uint8) float64 { return 0 })
			case 1:
				mean := m.meanLuminance()
				m.mix(contrast, func([]uint8) float64 { return (1 - contrast) * mean })
			case 2:
				m.mix(saturation, func(p []uint8) float64 {
					return (1 - saturation) * float64(luminanceOf(p))
				})
			}
		}
	}
	if a.RandomH != 0 || a.RandomS != 0 || a.RandomL != 0 {
		m.shiftHLS(shift(a.RandomH, r), shift(a.RandomL, r), shift(a.RandomS, r))
	}
	if a.PCANoise > 0 {
		m.noise(r.NormFloat64()*a.PCANoise, r.NormFloat64()*a.PCANoise, r.NormFloat64()*a.PCANoise)
	}
}

// luminanceOf returns the luminance of a pixel.
func luminanceOf(p []uint8) uint8 { return luminance(color.NRGBA{R: p[0], G: p[1], B: p[2]}) }

// pixels calls f with the samples of every pixel.
func (m *Image) pixels(f func(p []uint8)) {
	for i := 0; i < len(m.Pix); i += m.Channels {
		f(m.Pix[i : i+3])
	}
}

// mix multiplies each sample by factor and adds the number that add returns for its pixel.
func (m *Image) mix(factor float64, add func(p []uint8) float64) {
	m.pixels(func(p []uint8) {
		b := add(p)
		for k, v := range p {
			p[k] = round8(float64(v)*factor + b)
		}
	})
}

func round8(v float64) uint8 { return uint8(min(max(math.RoundToEven(v), 0), 255)) }

func (m *Image) meanLuminance() float64 {
	sum := 0
	m.pixels(func(p []uint8) { sum += int(luminanceOf(p)) })
	return float64(sum) / float64(m.Width*m.Height)
}

// shift draws a random change of at most most either way. Large changes are less likely.
func shift(most int, r *rand.Rand) int {
	u := (r.Float64() + 4*r.Float64()) / 5
	return int(u*float64(most)*2 - float64(most))
}

// shiftHLS adds to hue (of 180), lightness and saturation (of 255), and clamps each to its range.
func (m *Image) shiftHLS(h, l, s int) {
	add := func(v uint8, by, limit int) uint8 { return uint8(min(max(int(v)+by, 0), limit)) }
	m.pixels(func(p []uint8) {
		a, b, c := toHLS(p[0], p[1], p[2])
		p[0], p[1], p[2] = fromHLS(add(a, h, 180), add(b, l, 255), add(c, s, 255))
	})
}

// toHLS converts a color to hue in steps of two degrees, lightness and saturation.
func toHLS(r, g, b uint8) (h, l, s uint8) {
	x, y, z := float64(r)/255, float64(g)/255, float64(b)/255
	most, least := max(x, y, z), min(x, y, z)
	sum, diff := most+least, most-least
	light, hue, sat := sum/2, 0.0, 0.0
	if diff > 1e-7 {
		if sat = diff / sum; light >= 0.5 {
			sat = diff / (2 - sum)
		}
		switch most {
		case x:
			hue = (y - z) / diff
		case y:
			hue = (z-x)/diff + 2
		default:
			hue = (x-y)/diff + 4
		}
		if hue < 0 {
			hue += 6
		}
	}
	return round8(hue * 30), round8(light * 255), round8(sat * 255)
}

// fromHLS converts hue, lightness and saturation to a color; it is the inverse of toHLS.
func fromHLS(h, l, s uint8) (r, g, b uint8) {
	light, sat := float64(l)/255, float64(s)/255
	top := light + sat - light*sat
	if light <= 0.5 {
		top = light * (1 + sat)
	}
	bottom := 2*light - top
	channel := func(at float64) uint8 { // at: sixths of the circle
		at = math.Mod(at+6, 6)
		v := bottom
		switch {
		case at < 1:
			v = bottom + (top-bottom)*at
		case at < 3:
			v = top
		case at < 4:
			v = bottom + (top-bottom)*(4-at)
		}
		return round8(v * 255)
	}
	at := float64(h) / 30
	return channel(at + 2), channel(at), channel(at - 2)
}

// components are the principal components of ImageNet's colors, times their standard deviations.
var components = [3][3]float64{
	{55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009},
	{55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140},
	{55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203},
}

// noise adds x, y and z times the components to all pixels.
func (m *Image) noise(x, y, z float64) {
	var by [3]float64
	for k, c := range components {
		by[k] = c[0]*x + c[1]*y + c[2]*z
	}
	m.pixels(func(p []uint8) {
		for k, v := range p {
			p[k] = uint8(min(max(float64(v)+by[k], 0), 255))
		}
	})
}
