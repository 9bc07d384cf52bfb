package main

import (
	"context"
	"fmt"
	stdimage "image"
	"image/color"
	"image/draw"
	"math/rand/v2"
	"strconv"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"

	"gomx/examples/data"
	"gomx/io/image"
)

const (
	pages = 4
	rows  = 6    // lines of a page
	least = 0.95 // share of the characters other than spaces that must be read
)

// words are written on pages, with numbers between them.
var words = strings.Fields("Array Bucket Cluster Device Engine Forward Gradient Hybrid Index " +
	"Kernel Layer Memory Network Operator Predict Queue Recover Symbol Tensor Update Vector")

// check draws pages, reads them and compares.
func (r *reader) check(ctx context.Context) error {
	random := rand.New(rand.NewPCG(1, 0))
	wrong, all := 0, 0
	for range pages {
		texts := make([]string, rows)
		for i := range texts {
			for range 2 + random.IntN(3) {
				texts[i] += words[random.IntN(len(words))] + " "
			}
			texts[i] += strconv.Itoa(random.IntN(100000))
		}
		page, err := drawPage(texts, random)
		if err != nil {
			return err
		}
		lines, err := r.read(ctx, page)
		if err != nil {
			return err
		}
		var got []string
		for _, l := range lines {
			got = append(got, l.text)
		}
		fmt.Println(strings.Join(got, "\n"))
		want := letters(texts)
		wrong, all = wrong+data.Distance(letters(got), want), all+len(want)
	}
	share := 1 - float64(wrong)/float64(all)
	fmt.Printf("%.3f of the characters are read\n", share)
	if !(share >= least) {
		return fmt.Errorf("%.3f of the characters are read, want %v", share, least)
	}
	return nil
}

// letters returns the characters of lines without spaces: the recognizer, which is made for Chinese
// first, leaves many of them out.
func letters(lines []string) []rune {
	return []rune(strings.ReplaceAll(strings.Join(lines, "\n"), " ", ""))
}

// drawPage draws lines one below the other, in sizes and shades of gray of their own.
func drawPage(texts []string, r *rand.Rand) (*image.Image, error) {
	m := stdimage.NewGray(stdimage.Rect(0, 0, 640, 64*len(texts)))
	draw.Draw(m, m.Bounds(), stdimage.White, stdimage.Point{}, draw.Src)
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return nil, err
	}
	for i, text := range texts {
		face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: 18 + 8*r.Float64(), DPI: 72})
		if err != nil {
			return nil, err
		}
		ink := stdimage.NewUniform(color.Gray{Y: uint8(r.IntN(120))})
		d := font.Drawer{Dst: m, Src: ink, Face: face, Dot: fixed.P(20+r.IntN(60), 64*i+40)}
		d.DrawString(text)
		if err := face.Close(); err != nil {
			return nil, err
		}
	}
	page := image.New(m.Rect.Dy(), m.Rect.Dx(), 3)
	for i, v := range m.Pix {
		page.Pix[3*i], page.Pix[3*i+1], page.Pix[3*i+2] = v, v, v
	}
	return page, nil
}
