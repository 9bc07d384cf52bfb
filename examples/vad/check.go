package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
)

const (
	least = 0.95  // least share of windows judged as their loudness says
	hiss  = 0.002 // standard deviation of the noise around sounds

	threshold = 0.2 // least loudness of windows of speech
	edge      = 6   // windows beside loud windows, without a judgement
)

// check compares the speech found in the sounds of a folder with their loudness.
// Sounds named Noise… hold no speech.
func (d *detector) check(ctx context.Context, folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.wav"))
	if err == nil && len(files) < 2 {
		err = fmt.Errorf("%s has %d sounds, want speech and noise", folder, len(files))
	}
	if err != nil {
		return err
	}
	right, all := 0, 0
	for _, file := range files {
		samples, err := readSound(file)
		if err != nil {
			return err
		}
		name := filepath.Base(file)
		r, n, err := d.compare(ctx, samples, !strings.HasPrefix(name, "Noise"))
		if err != nil {
			return err
		}
		fmt.Printf("%s\t%d of %d windows\n", name, r, n)
		right, all = right+r, all+n
	}
	share := float64(right) / float64(all)
	fmt.Printf("%.3f of the windows are right\n", share)
	if !(share >= least) {
		return fmt.Errorf("%.3f of the windows are right, want %v", share, least)
	}
	return nil
}

// compare counts the windows judged right, and all judged windows. Loud windows are speech, if the
// sound is; quiet windows are not. The sound stands between seconds of noise.
func (d *detector) compare(ctx context.Context, samples []float32, speech bool) (right, all int,
	err error) {
	r := rand.New(rand.NewPCG(1, 0))
	const lead = rate / window * window
	noisy := make([]float32, lead+len(samples)+lead)
	copy(noisy[lead:], samples)
	loud := loudness(noisy)
	for i := range noisy {
		noisy[i] += hiss * float32(r.NormFloat64())
	}
	probs, err := d.probabilities(ctx, noisy)
	if err != nil {
		return 0, 0, err
	}
	found := make([]bool, len(probs))
	for _, p := range spans(probs) {
		for i := p.begin; i < p.end; i++ {
			found[i] = true
		}
	}
	for i, l := range loud {
		if speech && l < threshold && slices.Max(loud[max(i-edge, 0):min(i+edge+1, len(loud))]) >=
			threshold {
			continue // faint ends of words, and breaks between them
		}
		all++
		if found[i] == (speech && l >= threshold) {
			right++
		}
	}
	return right, all, nil
}

// loudness returns the root mean square of each window, relative to the loudest.
func loudness(samples []float32) []float64 {
	var list []float64
	top := 0.0
	for len(samples) > 0 {
		n, sum := min(window, len(samples)), 0.0
		for _, v := range samples[:n] {
			sum += float64(v) * float64(v)
		}
		list = append(list, math.Sqrt(sum/window))
		top = max(top, list[len(list)-1])
		samples = samples[n:]
	}
	for i := range list {
		list[i] /= max(top, 1e-9)
	}
	return list
}
