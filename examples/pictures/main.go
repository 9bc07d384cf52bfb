// Pictures shows the pictures of a training loop: it reads a folder of pictures, changes them at
// random in the workers of a loader, and writes one sheet of pictures for each epoch.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"gomx/gluon/data"
	"gomx/gluon/data/vision"
	"gomx/io/image"
	nd "gomx/ndarray"
)

func main() {
	dir := flag.String("data", "", "folder with a folder of pictures for each class (default: a "+
		"temporary one with circles and squares)")
	out := flag.String("out", ".", "folder in which the sheets are written")
	epochs := flag.Int("epochs", 2, "number of passes over the pictures")
	flag.Parse()
	change, err := run(*dir, *out, *epochs)
	if err == nil && change < least {
		err = fmt.Errorf("want at least %v", least)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

const (
	side  = 64   // width and height of the pictures in a batch
	least = 0.05 // mean change of a pixel from one epoch to another, of its whole range
)

// run writes the sheets. It returns by how much the pixels of a picture differ between two epochs
// on the average, 1 if no sheet shows a picture of a former one.
func run(dir, out string, epochs int) (float64, error) {
	if dir == "" {
		temp, err := os.MkdirTemp("", "pictures")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(temp)
		if err := draw(temp); err != nil {
			return 0, err
		}
		dir = temp
	}
	set, classes := vision.ImageFolder(dir, image.RGB)
	set = set.Map(vision.First(
		vision.RandomResizedCrop{Size: image.Size{Width: side}, Scale: [2]float64{0.4, 1}},
		vision.RandomFlipLeftRight{},
		vision.RandomColorJitter{Brightness: 0.3, Contrast: 0.3, Saturation: 0.3, Hue: 0.1},
		vision.ToTensor{},
		vision.RandomRotation{Low: -15, High: 15}))
	loader := data.NewLoader(set, 8, data.Shuffle(7), data.Workers(2))
	seen := changes{last: map[int][]float32{}}
	for epoch := range epochs {
		for batch, err := range loader.Batches(context.Background()) {
			if err != nil {
				return 0, err
			}
			labels, err := nd.Values[int32](batch.Label)
			if err != nil {
				return 0, err
			}
			for i, l := range labels {
				fmt.Printf("epoch %d: picture %d is one of the %s\n", epoch, batch.Index[i],
					classes[l])
			}
			pixels, err := batch.Data.Float32s()
			if err != nil {
				return 0, err
			}
			seen.add(batch.Index, pixels)
			path := filepath.Join(out, fmt.Sprintf("epoch%d.png", epoch))
			if err := sheet(path, pixels); err != nil {
				return 0, err
			}
			break // one batch shows enough
		}
	}
	fmt.Printf("%d pictures were shown again; their pixels have changed by %.3f\n", seen.again,
		seen.mean())
	return seen.mean(), nil
}

// draw writes circles and squares of several colors to two folders.
func draw(dir string) error {
	inside := map[string]func(x, y int) bool{
		"circles": func(x, y int) bool { return x*x+y*y < 30*30 },
		"squares": func(x, y int) bool { return max(x, -x) < 26 && max(y, -y) < 26 },
	}
	for class, in := range inside {
		if err := os.MkdirAll(filepath.Join(dir, class), 0o755); err != nil {
			return err
		}
		for i := range 6 {
			m := image.New(90, 100, 3)
			for y := range m.Height {
				for x := range m.Width {
					p := m.At(x, y)
					p[0], p[1], p[2] = uint8(2*x), uint8(2*y), 60
					if in(x-50, y-45) {
						p[0], p[1], p[2] = uint8(40*i), 220, uint8(255-40*i)
					}
				}
			}
			b, err := m.PNG()
			if err != nil {
				return err
			}
			name := filepath.Join(dir, class, fmt.Sprintf("%d.png", i))
			if err := os.WriteFile(name, b, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// sheet writes the pictures of a batch, of shape (n, 3, side, side), side by side.
func sheet(path string, v []float32) error {
	n := len(v) / (3 * side * side)
	m := image.New(side, n*side, 3)
	for i, x := range v {
		column, row, channel := i%side, i/side%side, i/(side*side)%3
		m.At(i/(3*side*side)*side+column, row)[channel] = uint8(255 * min(max(x, 0), 1))
	}
	b, err := m.PNG()
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}
