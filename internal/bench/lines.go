package bench

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// linePanel is a part of a line chart: one quantity over another.
type linePanel struct {
	title  string
	series []lineSeries
}

// lineSeries is one line. x and y have the same length.
type lineSeries struct {
	name string // shown at the right
	x, y []float64
}

// Sizes of the line chart in pixels.
const (
	lineLeft   = 70.0
	lineRoom   = 560.0
	lineRight  = 130.0
	lineTop    = 40.0
	lineHeight = 220.0
	lineBelow  = 50.0
)

// drawLines draws panels below each other as an SVG picture, with the names of the lines at the
// right. The vertical axes begin at zero.
func drawLines(w io.Writer, title, across string, panels []linePanel) error {
	for _, p := range panels {
		for _, s := range p.series {
			if len(s.x) != len(s.y) || len(s.x) == 0 {
				return fmt.Errorf("bench: line %q of %q has %d and %d numbers, want as many, and "+
					"at least one", s.name, p.title, len(s.x), len(s.y))
			}
		}
	}
	width := lineLeft + lineRoom + lineRight
	height := lineTop + (lineTop+lineHeight+lineBelow)*float64(len(panels))
	p := &barPicture{bufio.NewWriter(w)}
	p.open(width, height)
	p.text(lineLeft, 24, `font-size="15" font-weight="bold"`, title)
	for i := range panels {
		panels[i].draw(p, lineTop+(lineTop+lineHeight+lineBelow)*float64(i), across)
	}
	p.printf("</svg>\n")
	return p.out.Flush()
}

// draw draws a panel whose title is at the top.
func (l *linePanel) draw(p *barPicture, top float64, across string) {
	mostX, mostY := 0.0, 0.0
	for _, s := range l.series {
		for i := range s.x {
			mostX, mostY = max(mostX, s.x[i]), max(mostY, s.y[i])
		}
	}
	p.text(lineLeft, top+22, `font-weight="bold"`, l.title)
	bottom := top + lineTop + lineHeight
	atX := func(v float64) float64 { return lineLeft + lineRoom*v/max(mostX, 1e-300) }
	atY := func(v float64) float64 { return bottom - lineHeight*v/max(mostY, 1e-300) }
	for _, v := range marks(mostX) {
		p.printf(`<path d="M%.1f %.1fV%.1f" stroke="#e0e0e0"/>`+"\n", atX(v), bottom,
			bottom-lineHeight)
		p.text(atX(v), bottom+18, `text-anchor="middle"`, shortDecimal(v))
	}
	for _, v := range marks(mostY) {
		p.printf(`<path d="M%.1f %.1fH%.1f" stroke="#e0e0e0"/>`+"\n", lineLeft, atY(v),
			lineLeft+lineRoom)
		p.text(lineLeft-8, atY(v)+4, `text-anchor="end"`, shortDecimal(v))
	}
	p.text(lineLeft+lineRoom/2, bottom+36, `text-anchor="middle"`, across)
	for i, s := range l.series {
		var path strings.Builder
		for k := range s.x {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(k, 1)], atX(s.x[k]), atY(s.y[k]))
		}
		p.printf(`<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", path.String(),
			barColour(i))
		y := top + lineTop + 14 + 18*float64(i)
		p.printf(`<rect x="%.1f" y="%.1f" width="11" height="11" fill="%s"/>`+"\n",
			lineLeft+lineRoom+12, y-10, barColour(i))
		p.text(lineLeft+lineRoom+28, y, "", s.name)
	}
}

// marks returns round numbers from 0 to most, at most six.
func marks(most float64) (list []float64) {
	if !(most > 0) || math.IsInf(most, 1) {
		return []float64{0}
	}
	step := math.Pow(10, math.Floor(math.Log10(most/5)))
	for _, m := range []float64{2, 2.5, 2} { // 1, 2, 5, 10 times a power of ten
		if most/step <= 5 {
			break
		}
		step *= m
	}
	for k := 0; float64(k)*step <= most*(1+1e-9); k++ {
		list = append(list, float64(k)*step)
	}
	return list
}

// shortDecimal formats a round number.
func shortDecimal(v float64) string {
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'g', -1, 64)
}
