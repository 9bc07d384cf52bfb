package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gomx/io/image"
	nd "gomx/ndarray"
	"gomx/predict"
)

const (
	step     = 32  // sides of pictures for the detector are multiples of it
	height   = 48  // of lines for the recognizer, in pixels
	columns  = 160 // widths of lines are multiples of it, so that few shapes are compiled
	probable = 0.3 // least probability of a pixel of text
	grow     = 1.6 // area of a box by its circumference, times this, is added on each side
)

// reader finds and reads lines of text.
type reader struct {
	detector, recognizer *predict.ONNX
	chars                []string // by the recognizer's classes; class 0 is the break
}

// line is a line of text and its place on the page.
type line struct {
	at   image.Rect
	text string
}

func newReader(folder string) (r *reader, err error) {
	r = &reader{}
	r.detector, err = predict.LoadONNX(filepath.Join(folder, "ch_PP-OCRv4_det_infer.onnx"))
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "ch_PP-OCRv4_rec_infer.onnx")
	if r.recognizer, err = predict.LoadONNX(path); err != nil {
		return nil, err
	}
	text, ok := r.recognizer.File().Metadata()["character"]
	if !ok {
		return nil, fmt.Errorf("%s: no list of characters in the metadata", path)
	}
	r.chars = append(append([]string{""}, strings.Split(text, "\n")...), " ")
	return r, nil
}

func (r *reader) close() {
	r.detector.Close()
	r.recognizer.Close()
}

// read returns the lines of a page of three channels, from the top to the bottom.
func (r *reader) read(ctx context.Context, page *image.Image) ([]line, error) {
	boxes, err := r.find(ctx, page)
	if err != nil {
		return nil, err
	}
	var lines []line
	for _, at := range boxes {
		text, err := r.recognize(ctx, page.Crop(at.X, at.Y, at.Width, at.Height))
		if err != nil {
			return nil, err
		}
		lines = append(lines, line{at, text})
	}
	return lines, nil
}

// find returns the boxes of lines.
func (r *reader) find(ctx context.Context, page *image.Image) ([]image.Rect, error) {
	w, h := max(page.Width/step, 1)*step, max(page.Height/step, 1)*step
	outs, err := r.detector.Predict(ctx, map[string]*nd.Array{
		"x": pixels(page.Resize(w, h, image.Linear), w)})
	if err != nil {
		return nil, err
	}
	probs, err := outs[0].Array.Float32s()
	if err != nil {
		return nil, err
	}
	var boxes []image.Rect
	for _, b := range regions(probs, w) {
		add := int(math.Round(grow * float64(b.Width*b.Height) / float64(2*(b.Width+b.Height))))
		left, top := max(b.X-add, 0), max(b.Y-add, 0)
		right, bottom := min(b.X+b.Width+add, w), min(b.Y+b.Height+add, h)
		b.X, b.Width = left*page.Width/w, (right-left)*page.Width/w
		b.Y, b.Height = top*page.Height/h, (bottom-top)*page.Height/h
		boxes = append(boxes, b)
	}
	slices.SortStableFunc(boxes, func(a, b image.Rect) int { return cmp.Compare(a.Y, b.Y) })
	return boxes, nil
}

// regions returns the boxes around connected probable pixels. Boxes below 3 pixels are dropped.
func regions(probs []float32, width int) []image.Rect {
	seen := make([]bool, len(probs))
	var boxes []image.Rect
	for start, p := range probs {
		if p < probable || seen[start] {
			continue
		}
		left, right, top, bottom := width, 0, len(probs)/width, 0
		seen[start] = true
		for todo := []int{start}; len(todo) > 0; {
			i := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			x, y := i%width, i/width
			left, right, top, bottom = min(left, x), max(right, x), min(top, y), max(bottom, y)
			for _, k := range []int{i - width, i + width, i - min(x, 1), i + min(width-1-x, 1)} {
				if k >= 0 && k < len(probs) && !seen[k] && probs[k] >= probable {
					seen[k] = true
					todo = append(todo, k)
				}
			}
		}
		if right-left >= 2 && bottom-top >= 2 {
			boxes = append(boxes, image.Rect{X: left, Y: top, Width: right + 1 - left,
				Height: bottom + 1 - top})
		}
	}
	return boxes
}

// recognize returns the text of a picture of one line: the best class of each column, without
// repetitions and breaks.
func (r *reader) recognize(ctx context.Context, m *image.Image) (string, error) {
	w := max(m.Width*height/m.Height, 1)
	x := pixels(m.Resize(w, height, image.Linear), (w+columns-1)/columns*columns)
	outs, err := r.recognizer.Predict(ctx, map[string]*nd.Array{"x": x})
	if err != nil {
		return "", err
	}
	probs, err := outs[0].Array.Float32s()
	if err != nil {
		return "", err
	}
	classes := outs[0].Shape[2]
	if classes != len(r.chars) {
		return "", fmt.Errorf("%d classes, the metadata has %d characters", classes, len(r.chars))
	}
	var b strings.Builder
	last := 0
	for ; len(probs) > 0; probs = probs[classes:] {
		column := probs[:classes]
		best := slices.Index(column, slices.Max(column))
		if best != last {
			b.WriteString(r.chars[best])
		}
		last = best
	}
	return b.String(), nil
}

// pixels returns an array (1, 3, height, width) of values from -1 to 1 in the order blue, green,
// red. Columns beside the picture are zeros.
func pixels(m *image.Image, width int) *nd.Array {
	x := make([]float32, 3*m.Height*width)
	for row := range m.Height {
		for col := range m.Width {
			for c, v := range m.At(col, row) {
				x[((2-c)*m.Height+row)*width+col] = float32(v)/127.5 - 1
			}
		}
	}
	return nd.FromSlice(x, 1, 3, m.Height, width)
}
