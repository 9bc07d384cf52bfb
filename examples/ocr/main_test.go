package main

import (
	"flag"
	"math/rand/v2"
	"reflect"
	"testing"

	"gomx/io/image"
)

var folder = flag.String("rapidocr", "", "folder of rapidocr's models")

// TestPages reads the pages of the program; make onnx-examples runs it.
func TestPages(t *testing.T) {
	if *folder == "" {
		t.Skip("wants rapidocr's models: make onnx-examples")
	}
	if err := run(t.Context(), *folder, true, nil); err != nil {
		t.Fatal(err)
	}
}

func TestRegions(t *testing.T) {
	rows := []string{
		"##......##",
		"##..##..#.",
		"##...#..##",
		"##...#..##",
		".....##...",
	}
	var probs []float32
	for _, row := range rows {
		for _, c := range row {
			p := float32(0.1)
			if c == '#' {
				p = 0.9
			}
			probs = append(probs, p)
		}
	}
	// Boxes below three pixels on a side go: only the one in the middle stays.
	want := []image.Rect{{X: 4, Y: 1, Width: 3, Height: 4}}
	if got := regions(probs, 10); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestDrawPage finds ink in each line of a page and none at its edges.
func TestDrawPage(t *testing.T) {
	page, err := drawPage([]string{"Array 1", "Tensor 2"}, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		dark := 0
		for y := 64 * i; y < 64*i+64; y++ {
			for x := range page.Width {
				if page.At(x, y)[1] < 128 {
					dark++
				}
			}
		}
		if dark < 100 || page.At(0, 64*i)[0] != 255 {
			t.Errorf("line %d has %d dark pixels", i, dark)
		}
	}
}
