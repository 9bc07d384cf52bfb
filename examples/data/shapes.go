package data

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"

	nd "gomx/ndarray"
)

// ShapeNames are the classes of the objects in the pictures of Shapes.
var ShapeNames = []string{"circle", "square", "triangle"}

const (
	side    = 64 // pixels of a picture with shapes
	objects = 3  // most shapes in a picture
)

// Shapes draws n pictures (n, 3, 64, 64) of one to three shapes, and labels (n, 3, 5): class, left,
// top, right and bottom as shares of the side, and -1 where there is no object. A seed gives the
// same pictures again.
func Shapes(n int, seed uint64) (pictures, labels *nd.Array) {
	x, rows := make([]float32, n*3*side*side), make([]float32, n*objects*5)
	for i := range n {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		paint(rng, x[i*3*side*side:][:3*side*side], rows[i*objects*5:][:objects*5])
	}
	return nd.FromSlice(x, n, 3, side, side), nd.FromSlice(rows, n, objects, 5)
}

// paint fills a picture with noise and shapes, which do not overlap by much.
func paint(rng *rand.Rand, x, labels []float32) {
	for i := range x {
		x[i] = float32(rng.NormFloat64()) * 0.1
	}
	for i := range labels {
		labels[i] = -1
	}
	var boxes [][4]int
	for len(boxes) < 1+rng.IntN(objects) { // drawn anew each time: there may be no room for more
		size := 12 + rng.IntN(24)
		left, top := rng.IntN(side-size), rng.IntN(side-size)
		b := [4]int{left, top, left + size, top + size}
		if meets(boxes, b) {
			continue
		}
		class := rng.IntN(len(ShapeNames))
		row := labels[len(boxes)*5:]
		row[0] = float32(class)
		for k, v := range b {
			row[1+k] = float32(v) / side
		}
		boxes = append(boxes, b)
		tint := [3]float32{rng.Float32() + 0.3, rng.Float32() + 0.3, rng.Float32() + 0.3}
		for py := b[1]; py < b[3]; py++ {
			for px := b[0]; px < b[2]; px++ {
				u := 2*(float64(px-left)+0.5)/float64(size) - 1 // -1 to 1
				v := 2*(float64(py-top)+0.5)/float64(size) - 1
				if !inside(class, u, v) {
					continue
				}
				for c := range 3 {
					x[(c*side+py)*side+px] += tint[c]
				}
			}
		}
	}
}

// meets reports whether a box overlaps one of others.
func meets(boxes [][4]int, b [4]int) bool {
	for _, o := range boxes {
		if b[0] < o[2] && o[0] < b[2] && b[1] < o[3] && o[1] < b[3] {
			return true
		}
	}
	return false
}

// inside reports whether a place of the square from -1 to 1 belongs to a shape.
func inside(class int, u, v float64) bool {
	switch ShapeNames[class] {
	case "circle":
		return u*u+v*v <= 1
	case "triangle":
		return 2*max(u, -u) <= v+1
	}
	return true
}

// DrawBoxes writes the first 16 of n pictures (n, 3, 64, 64) to a PNG file, with the boxes of the
// detections (n, m, 6) that have a score above 0.5: red circles, green squares, blue triangles.
func DrawBoxes(path string, pictures, found *nd.Array) error {
	const across = 4
	if n := pictures.Shape()[0]; n < across*across || found.Shape()[0] != n {
		return fmt.Errorf("data: %d pictures and detections of %d, want 16 or more of both", n,
			found.Shape()[0])
	}
	x, err := pictures.Float32s()
	if err != nil {
		return err
	}
	list, err := found.Float32s()
	if err != nil {
		return err
	}
	sheet, rows := image.NewRGBA(image.Rect(0, 0, across*side, across*side)), found.Shape()[1]
	for i := range across * across {
		ox, oy := i%across*side, i/across*side
		for p := range side * side {
			at := func(c int) uint8 {
				return uint8(max(0, min(1, x[(i*3+c)*side*side+p]))*200 + 25)
			}
			sheet.Set(ox+p%side, oy+p/side, color.RGBA{at(0), at(1), at(2), 255})
		}
		for k := range rows {
			if r := list[(i*rows+k)*6:][:6]; r[0] >= 0 && r[1] > 0.5 {
				frame(sheet, ox, oy, r)
			}
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(f, sheet), f.Close())
}

// frame draws the box of a detection.
func frame(sheet *image.RGBA, ox, oy int, r []float32) {
	tint := color.RGBA{A: 255}
	*[]*uint8{&tint.R, &tint.G, &tint.B}[int(r[0])] = 255
	at := func(v float32) int { return max(0, min(side-1, int(v*side))) }
	for p := at(r[2]); p <= at(r[4]); p++ {
		sheet.Set(ox+p, oy+at(r[3]), tint)
		sheet.Set(ox+p, oy+at(r[5]), tint)
	}
	for p := at(r[3]); p <= at(r[5]); p++ {
		sheet.Set(ox+at(r[2]), oy+p, tint)
		sheet.Set(ox+at(r[4]), oy+p, tint)
	}
}
