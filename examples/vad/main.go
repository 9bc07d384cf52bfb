// Vad prints the times of speech in sounds. The model is silero-vad in ONNX's format; the command
// `make onnx-models` installs it:
//
//	vad -model silero_vad.onnx hello.wav
//
// With -check it hides the sounds of a folder, for example of Debian's package alsa-utils, in
// seconds of noise, and compares the model's windows of speech with the loud windows.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	nd "gomx/ndarray"
	"gomx/predict"
)

const (
	rate   = 16000 // samples in a second
	window = 512   // new samples of a call
	before = 64    // samples of the window before, read by the model too
)

func main() {
	path := flag.String("model", "silero_vad.onnx", "file of the model")
	folder := flag.String("check", "", "folder of spoken sounds, and of others that begin with Noise")
	flag.Parse()
	if err := run(context.Background(), *path, *folder, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, path, folder string, files []string) error {
	d, err := newDetector(path)
	if err != nil {
		return err
	}
	defer d.model.Close()
	if folder != "" {
		return d.check(ctx, folder)
	}
	for _, file := range files {
		samples, err := readSound(file)
		if err != nil {
			return err
		}
		probs, err := d.probabilities(ctx, samples)
		if err != nil {
			return err
		}
		for _, p := range spans(probs) {
			fmt.Printf("%s\t%.2f s to %.2f s\n", file, p.seconds(p.begin), p.seconds(p.end))
		}
	}
	return nil
}

// detector computes the probability of speech for windows of sound.
type detector struct {
	model *predict.ONNX
	rate  *nd.Array
}

func newDetector(path string) (*detector, error) {
	m, err := predict.LoadONNX(path)
	if err != nil {
		return nil, err
	}
	return &detector{m, nd.FromSlice([]int64{rate}, 1)}, nil
}

// probabilities returns a probability for each window, the last filled up with silence. The state
// goes from window to window, as it would with a microphone.
func (d *detector) probabilities(ctx context.Context, samples []float32) ([]float32, error) {
	var probs []float32
	state := nd.Zeros(nd.Shape{2, 1, 128})
	defer func() { state.Close() }()
	input := make([]float32, before+window)
	for len(samples) > 0 {
		copy(input, input[window:])
		clear(input[before:])
		n := copy(input[before:], samples)
		samples = samples[n:]
		x := nd.FromSlice(input, 1, len(input))
		outs, err := d.model.Predict(ctx, map[string]*nd.Array{"input": x, "state": state,
			"sr": d.rate})
		x.Close()
		if err != nil {
			return nil, err
		}
		p, err := outs[0].Array.Float32s()
		if err != nil {
			return nil, err
		}
		outs[0].Array.Close()
		state.Close()
		state, probs = outs[1].Array, append(probs, p[0])
	}
	return probs, nil
}

// span is a time of speech: windows from begin, without end.
type span struct{ begin, end int }

// seconds returns the time of the begin of a window.
func (span) seconds(w int) float64 { return float64(w) * window / rate }

// spans returns the times of speech: they begin at a probability of 0.5 and last until it has been
// below 0.35 for 100 ms. Those shorter than 200 ms are dropped.
func spans(probs []float32) []span {
	const quiet, shortest = rate / 10 / window, rate / 5 / window
	var list []span
	open, last := -1, 0
	end := func() {
		if open >= 0 && last+1-open >= shortest {
			list = append(list, span{open, last + 1})
		}
		open = -1
	}
	for i, p := range probs {
		switch {
		case open < 0 && p >= 0.5:
			open, last = i, i
		case open >= 0 && p >= 0.35:
			last = i
		case open >= 0 && i-last > quiet:
			end()
		}
	}
	end()
	return list
}
