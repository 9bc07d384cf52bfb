package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
)

// sound holds samples from -1 to 1 of one channel.
type sound struct {
	rate    int // samples in a second
	samples []float32
}

// readSound returns the samples of a file in the format WAV at the model's rate.
func readSound(file string) ([]float32, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s, err := decodeWAV(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s.resample(rate).samples, nil
}

// decodeWAV reads a file in the format WAV with integers of 16 bits. Channels are averaged.
func decodeWAV(data []byte) (*sound, error) {
	if len(data) < 12 || string(data[:4]) != "RIFF" || string(data[8:12]) != "WAVE" {
		return nil, errors.New("the file does not begin with the header of a WAV file")
	}
	var s *sound
	channels := 0
	for rest := data[12:]; len(rest) >= 8; {
		name, size := string(rest[:4]), int(binary.LittleEndian.Uint32(rest[4:]))
		body := rest[8:]
		if size > len(body) {
			return nil, fmt.Errorf("part %q says %d bytes, the file has %d", name, size, len(body))
		}
		body, rest = body[:size], body[min(size+size%2, len(body)):]
		switch {
		case name == "fmt " && size >= 16:
			code, bits := binary.LittleEndian.Uint16(body), binary.LittleEndian.Uint16(body[14:])
			channels = int(binary.LittleEndian.Uint16(body[2:]))
			s = &sound{rate: int(binary.LittleEndian.Uint32(body[4:]))}
			if code != 1 || bits != 16 || channels == 0 || s.rate == 0 {
				return nil, fmt.Errorf("format %d with %d channels of %d bits at %d Hz, want "+
					"format 1 of 16 bits", code, channels, bits, s.rate)
			}
		case name == "data" && s != nil:
			s.samples = make([]float32, size/2/channels)
			for i := range len(s.samples) * channels {
				v := int16(binary.LittleEndian.Uint16(body[2*i:]))
				s.samples[i/channels] += float32(v) / 32768 / float32(channels)
			}
			return s, nil
		}
	}
	return nil, errors.New("the file has no samples after a description of their format")
}

// lobes is the number of zeros of the filter of resample on each side.
const lobes = 16

// resample returns the sound at another rate, by a sinc under a Hann window without the
// frequencies above half of the lower rate.
func (s *sound) resample(rate int) *sound {
	if s.rate == rate {
		return s
	}
	step := float64(s.rate) / float64(rate)
	width := max(step, 1) // of a lobe in old samples
	out := &sound{rate, make([]float32, int(float64(len(s.samples))/step))}
	for i := range out.samples {
		center := float64(i) * step
		first := max(int(math.Ceil(center-lobes*width)), 0)
		last := min(int(center+lobes*width), len(s.samples)-1)
		sum := 0.0
		for k := first; k <= last; k++ {
			x := math.Pi * (float64(k) - center) / width
			sinc := 1.0
			if x != 0 {
				sinc = math.Sin(x) / x
			}
			sum += float64(s.samples[k]) * sinc * (1 + math.Cos(x/lobes)) / 2
		}
		out.samples[i] = float32(sum / width)
	}
	return out
}
