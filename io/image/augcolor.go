package image

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// The augmenters of this file convert samples to float32 first. Those that mix colors need pictures
// of three channels or more; the fourth is left as it is.

// BrightnessJitterAug multiplies all samples by a random factor.
type BrightnessJitterAug struct {
	Most float64 // largest difference of the factor from 1
}

// Apply implements Augmenter.
func (a BrightnessJitterAug) Apply(m Picture, r *rand.Rand) (Picture, error) {
	f := m.Float()
	factor := float32(1 + between(-a.Most, a.Most, r))
	for i := range f.Pix {
		f.Pix[i] *= factor
	}
	return f, nil
}

// ContrastJitterAug multiplies the differences of all samples to the mean luminance by a random
// factor.
type ContrastJitterAug struct {
	Most float64 // largest difference of the factor from 1
}

// Apply implements Augmenter.
func (a ContrastJitterAug) Apply(m Picture, r *rand.Rand) (Picture, error) {
	factor := float32(1 + between(-a.Most, a.Most, r))
	return colored("ContrastJitterAug", m, func(f *Floats) {
		sum := 0.0
		f.pixels(func(p []float32) { sum += float64(gray(p)) })
		add := (1 - factor) * float32(sum/float64(f.Width*f.Height))
		f.pixels(func(p []float32) {
			p[0], p[1], p[2] = p[0]*factor+add, p[1]*factor+add, p[2]*factor+add
		})
	})
}

// SaturationJitterAug multiplies the differences of the samples of a pixel to its luminance by a
// random factor.
type SaturationJitterAug struct {
	Most float64 // largest difference of the factor from 1
}

// Apply implements Augmenter.
func (a SaturationJitterAug) Apply(m Picture, r *rand.Rand) (Picture, error) {
	factor := float32(1 + between(-a.Most, a.Most, r))
	return colored("SaturationJitterAug", m, func(f *Floats) {
		f.pixels(func(p []float32) {
			add := (1 - factor) * gray(p)
			p[0], p[1], p[2] = p[0]*factor+add, p[1]*factor+add, p[2]*factor+add
		})
	})
}

// HueJitterAug turns the colors by a random angle in the space YIQ.
type HueJitterAug struct {
	Most float64 // largest angle, in halves of the circle
}

// Apply implements Augmenter.
func (a HueJitterAug) Apply(m Picture, r *rand.Rand) (Picture, error) {
	w, u := math.Sincos(between(-a.Most, a.Most, r) * math.Pi)
	turn := product(fromYIQ, product(matrix3{{1, 0, 0}, {0, u, -w}, {0, w, u}}, toYIQ))
	return colored("HueJitterAug", m, func(f *Floats) { f.mix(turn) })
}

// ColorJitterAug changes brightness, contrast and saturation in random order. A change of 0 is left
// out.
type ColorJitterAug struct{ Brightness, Contrast, Saturation float64 }

// Apply implements Augmenter.
func (a ColorJitterAug) Apply(m Picture, r *rand.Rand) (Picture, error) {
	var list RandomOrderAug
	if a.Brightness > 0 {
		list = append(list, BrightnessJitterAug{a.Brightness})
	}
	if a.Contrast > 0 {
		list = append(list, ContrastJitterAug{a.Contrast})
	}
	if a.Saturation > 0 {
		list = append(list, SaturationJitterAug{a.Saturation})
	}
	return list.Apply(m, r)
}

// LightingAug adds noise along principal components of colors.
type LightingAug struct {
	Std    float64       // standard deviation, in parts of each component's own
	Values [3]float64    // standard deviations of the components; all 0: ImageNet's
	Vector [3][3]float64 // one component in each column; used with Values
}

// Apply implements Augmenter.
func (a LightingAug) Apply(m Picture, r *rand.Rand) (Picture, error) {
	var add [3]float32
	x := [3]float64{r.NormFloat64() * a.Std, r.NormFloat64() * a.Std, r.NormFloat64() * a.Std}
	for k := range add {
		sum := 0.0
		for j, v := range x {
			if a.Values == [3]float64{} {
				sum += components[k][j] * v
			} else {
				sum += a.Vector[k][j] * a.Values[j] * v
			}
		}
		add[k] = float32(sum)
	}
	return colored("LightingAug", m, func(f *Floats) {
		f.pixels(func(p []float32) { p[0], p[1], p[2] = p[0]+add[0], p[1]+add[1], p[2]+add[2] })
	})
}

// ColorNormalizeAug computes (v - Mean) / Std.
//
// MXNet: also image.color_normalize.
type ColorNormalizeAug struct {
	Mean, Std []float64 // for each channel, or one number for all; nil: none
}

// Mean and standard deviation of the samples of ImageNet, from 0 to 255.
var (
	ImageNetMean = [3]float64{123.68, 116.28, 103.53}
	ImageNetStd  = [3]float64{58.395, 57.12, 57.375}
)

// Apply implements Augmenter.
func (a ColorNormalizeAug) Apply(m Picture, _ *rand.Rand) (Picture, error) {
	f := m.Float()
	mean, err := perChannel("mean", a.Mean, f.Channels, 0)
	if err != nil {
		return nil, err
	}
	std, err := perChannel("standard deviation", a.Std, f.Channels, 1)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(f.Pix); i += f.Channels {
		p := f.Pix[i : i+f.Channels]
		for k, v := range p {
			p[k] = (v - mean[k]) / std[k]
		}
	}
	return f, nil
}

// perChannel returns one number for each channel.
func perChannel(what string, list []float64, channels int, none float32) ([]float32, error) {
	if n := len(list); n > 1 && n != channels {
		return nil, fmt.Errorf("image: %s of %d numbers, want 1 or %d, one for each channel", what,
			n, channels)
	}
	out := make([]float32, channels)
	for k := range out {
		switch len(list) {
		case 0:
			out[k] = none
		case 1:
			out[k] = float32(list[0])
		default:
			out[k] = float32(list[k])
		}
	}
	return out, nil
}

// RandomGrayAug replaces colors by 0.21 red, 0.72 green and 0.07 blue with probability P.
type RandomGrayAug struct{ P float64 }

// Apply implements Augmenter.
func (a RandomGrayAug) Apply(m Picture, r *rand.Rand) (Picture, error) {
	if r.Float64() >= a.P {
		return m, nil
	}
	return colored("RandomGrayAug", m, func(f *Floats) {
		f.pixels(func(p []float32) {
			v := 0.21*p[0] + 0.72*p[1] + 0.07*p[2]
			p[0], p[1], p[2] = v, v, v
		})
	})
}

// colored calls f with the samples of a picture that has colors.
func colored(what string, m Picture, f func(*Floats)) (Picture, error) {
	out := m.Float()
	if out.Channels < 3 {
		return nil, fmt.Errorf("image: %s: a picture of %d channels, want 3", what, out.Channels)
	}
	f(out)
	return out, nil
}

// pixels calls f with the colors of every pixel.
func (m *Floats) pixels(f func(p []float32)) {
	for i := 0; i+3 <= len(m.Pix); i += m.Channels {
		f(m.Pix[i : i+3 : i+3])
	}
}

// gray returns the luminance of a pixel.
func gray(p []float32) float32 { return 0.299*p[0] + 0.587*p[1] + 0.114*p[2] }

type matrix3 [3][3]float64

// The space YIQ, in the rounded coefficients of MXNet.
var (
	toYIQ   = matrix3{{0.299, 0.587, 0.114}, {0.596, -0.274, -0.321}, {0.211, -0.523, 0.311}}
	fromYIQ = matrix3{{1, 0.956, 0.621}, {1, -0.272, -0.647}, {1, -1.107, 1.705}}
)

// product returns the matrix product a·b.
func product(a, b matrix3) (c matrix3) {
	for i := range c {
		for j := range c {
			for k := range c {
				c[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	return c
}

// mix multiplies every pixel by a matrix.
func (m *Floats) mix(by matrix3) {
	var t [3][3]float32
	for i, row := range by {
		for j, v := range row {
			t[i][j] = float32(v)
		}
	}
	m.pixels(func(p []float32) {
		r, g, b := p[0], p[1], p[2]
		for k, row := range t {
			p[k] = r*row[0] + g*row[1] + b*row[2]
		}
	})
}
