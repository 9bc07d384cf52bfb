package bench

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math"
)

// barPanel is a part of a bar chart: the values of one quantity.
type barPanel struct {
	title string
	// log makes the lengths of bars logarithmic: values of very different sizes are visible, but
	// their lengths cannot be compared.
	log    bool
	groups []barGroup
}

// barGroup is the bars of one label: a value for each series, NaN for series without one.
type barGroup struct {
	label  string
	values []float64
}

// Sizes of the bar chart in pixels.
const (
	barLeft   = 250.0
	barRoom   = 400.0
	barRight  = 90.0
	barHeight = 11.0
	barGap    = 8.0 // between groups
	barTitle  = 34.0
)

// drawBars draws panels of horizontal bars as an SVG picture, with the value behind each bar.
func drawBars(w io.Writer, title string, series []string, panels []barPanel) error {
	p := &barPicture{bufio.NewWriter(w)}
	height := 64.0
	for i := range panels {
		for _, g := range panels[i].groups {
			if len(g.values) != len(series) {
				return fmt.Errorf("bench: %q of %q has %d values, want one for each of %d series",
					g.label, panels[i].title, len(g.values), len(series))
			}
		}
		height += panels[i].height()
	}
	width := barLeft + barRoom + barRight
	p.open(width, height)
	p.text(barLeft, 24, `font-size="15" font-weight="bold"`, title)
	for i, name := range series {
		x := barLeft + 120*float64(i)
		p.printf(`<rect x="%.1f" y="38" width="11" height="11" fill="%s"/>`+"\n", x, barColour(i))
		p.text(x+16, 48, "", name)
	}
	y := 64.0
	for i := range panels {
		panels[i].draw(p, y)
		y += panels[i].height()
	}
	p.printf("</svg>\n")
	return p.out.Flush()
}

// barPicture is a picture that is being written. Errors are reported by Flush, because a
// bufio.Writer keeps its first error.
type barPicture struct{ out *bufio.Writer }

// open begins the picture with an empty sheet.
func (p *barPicture) open(width, height float64) {
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" `+
		`viewBox="0 0 %.0f %.0f" font-family="Liberation Sans,Helvetica,Arial,sans-serif" `+
		`font-size="12" fill="#333333">`+"\n", width, height, width, height)
	p.printf(`<rect width="100%%" height="100%%" fill="#ffffff"/>` + "\n")
}

func (p *barPicture) printf(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

// text writes a line of text; attributes are inserted into the tag unchanged.
func (p *barPicture) text(x, y float64, attributes, text string) {
	p.printf(`<text x="%.1f" y="%.1f" %s>`, x, y, attributes)
	_ = xml.EscapeText(p.out, []byte(text))
	p.printf("</text>\n")
}

// barColours can be distinguished by colour-blind readers.
var barColours = [...]string{"#4c78a8", "#f58518", "#54a24b", "#e45756", "#b279a2", "#72b7b2"}

// barColour is the colour of a series.
func barColour(i int) string { return barColours[i%len(barColours)] }

// bars returns the number of bars of a group.
func (g *barGroup) bars() (n int) {
	for _, v := range g.values {
		if !math.IsNaN(v) {
			n++
		}
	}
	return n
}

func (b *barPanel) height() float64 {
	h := barTitle
	for i := range b.groups {
		h += barHeight*float64(b.groups[i].bars()) + barGap
	}
	return h
}

// scale returns a function that maps a value to the length of its bar; the largest value fills the
// width.
func (b *barPanel) scale() func(v float64) float64 {
	least, most := math.Inf(1), 0.0
	for i := range b.groups {
		for _, v := range b.groups[i].values {
			if v > 0 {
				least, most = min(least, v), max(most, v)
			}
		}
	}
	return func(v float64) float64 {
		switch {
		case !(v > 0) || most == 0:
			return 0
		case b.log:
			low := math.Log(least) - 1
			return barRoom * (math.Log(v) - low) / (math.Log(most) - low)
		}
		return barRoom * v / most
	}
}

func (b *barPanel) draw(p *barPicture, y float64) {
	p.text(barLeft, y+22, `font-weight="bold"`, b.title)
	y += barTitle
	length := b.scale()
	for i := range b.groups {
		g := &b.groups[i]
		p.text(barLeft-8, y+barHeight*float64(g.bars())/2+4, `text-anchor="end"`, g.label)
		for k, v := range g.values {
			if math.IsNaN(v) {
				continue
			}
			p.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", barLeft,
				y, length(v), barHeight-1, barColour(k))
			p.text(barLeft+length(v)+4, y+barHeight-2, `font-size="10"`, shortNumber(v))
			y += barHeight
		}
		y += barGap
	}
}

// shortNumber formats a number with three digits and a suffix for thousands.
func shortNumber(v float64) string {
	for _, u := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= u.of {
			return fmt.Sprintf("%.3g%s", v/u.of, u.name)
		}
	}
	return fmt.Sprintf("%.3g", v)
}
