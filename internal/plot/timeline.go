package plot

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// Box is an interval of time in a row of a Timeline.
type Box struct {
	Row        string
	Kind       string // determines the colour
	Label      string // written into the box if it fits
	Note       string // shown with the label when the mouse points at the box
	Start, End time.Duration
}

// Timeline is a picture of operations over time: a row for each place where operations run, and a
// box for each operation.
type Timeline struct {
	Title   string
	Caption []string // lines of text below the picture
	Rows    []string // rows from the top; rows of boxes that are not listed follow
	Kinds   []string // kinds, in the order of the legend and of the colours
	Boxes   []Box
}

// Sizes of the picture in pixels.
const (
	timeWidth  = 1180.0
	boxHeight  = 26.0
	rowGap     = 14.0
	headRoom   = 76.0
	lineHeight = 17.0
	labelWidth = 6.0 // width of a character in a box
)

// WriteSVG draws the timeline. A box inside another box of its row is drawn in the lower part of
// that box; boxes that overlap otherwise are drawn below each other. Labels that do not fit into
// their boxes hang below the row.
func (t *Timeline) WriteSVG(w io.Writer) error {
	if len(t.Boxes) == 0 {
		return fmt.Errorf("plot: timeline %q has nothing to draw", t.Title)
	}
	for i, b := range t.Boxes {
		if b.End < b.Start {
			return fmt.Errorf("plot: box %d, %q, ends at %v before it starts at %v", i, b.Label,
				b.End, b.Start)
		}
	}
	p := newTimePicture(w, t)
	p.frame()
	p.axis()
	for i := range p.rows {
		p.row(&p.rows[i])
	}
	for i, line := range t.Caption {
		p.text(p.left, p.bottom+58+lineHeight*float64(i), `fill="#555555"`, clean(line))
	}
	return p.close()
}

// timeRow is a row of boxes with its place.
type timeRow struct {
	name   string
	levels [][]Box // boxes of one level do not overlap
	inside []inner
	y      float64
	tags   []tag
}

// inner is a box inside another box of its level.
type inner struct {
	Box
	level int
}

// height returns the height of the row without its tags.
func (r *timeRow) height() float64 { return boxHeight * float64(len(r.levels)) }

// timePicture is a timeline being drawn.
type timePicture struct {
	*Timeline
	svg
	rows         []timeRow
	left, bottom float64
	from, length time.Duration
}

func newTimePicture(w io.Writer, t *Timeline) *timePicture {
	p := &timePicture{Timeline: t, svg: svg{bufio.NewWriter(w)}, left: minLeft}
	for _, name := range t.Rows {
		p.rows = append(p.rows, timeRow{name: name})
	}
	boxes := slices.Clone(t.Boxes)
	slices.SortStableFunc(boxes, func(a, b Box) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	p.from = boxes[0].Start
	for _, b := range boxes {
		p.length = max(p.length, b.End-p.from)
		p.place(b)
	}
	p.length = max(p.length, 1)
	p.rows = slices.DeleteFunc(p.rows, func(r timeRow) bool { return len(r.levels) == 0 })
	for i := range p.rows {
		p.left = max(p.left, 28+charWidth*float64(len([]rune(p.rows[i].name))))
	}
	y := headRoom
	for i := range p.rows {
		r := &p.rows[i]
		r.y = y
		r.tags = p.hang(r)
		y += r.height() + tagRoom(r.tags) + rowGap
	}
	p.bottom = y
	return p
}

// place puts b into the first level of its row that is free, or inside a box that contains it.
func (p *timePicture) place(b Box) {
	i := slices.IndexFunc(p.rows, func(r timeRow) bool { return r.name == b.Row })
	if i < 0 {
		i = len(p.rows)
		p.rows = append(p.rows, timeRow{name: b.Row})
	}
	r := &p.rows[i]
	for l, level := range r.levels {
		last := level[len(level)-1]
		if last.End <= b.Start {
			r.levels[l] = append(level, b)
			return
		}
		if b.End <= last.End {
			r.inside = append(r.inside, inner{b, l})
			return
		}
	}
	r.levels = append(r.levels, []Box{b})
}

// x returns the x of an instant.
func (p *timePicture) x(at time.Duration) float64 {
	return p.left + timeWidth*float64(at-p.from)/float64(p.length)
}

// frame opens the picture and writes title and legend.
func (p *timePicture) frame() {
	width, height := p.left+timeWidth+28, p.bottom+48+lineHeight*float64(len(p.Caption))
	p.open(width, height)
	p.text(p.left, 26, `font-size="15"`, clean(p.Title))
	x := p.left
	for i, kind := range p.Kinds {
		if !slices.ContainsFunc(p.Boxes, func(b Box) bool { return b.Kind == kind }) {
			continue
		}
		p.printf(`<rect x="%.1f" y="40" width="14" height="14" rx="2" fill="%s"/>`+"\n", x, fill(i))
		p.text(x+20, 52, "", clean(kind))
		x += 44 + charWidth*float64(len([]rune(kind)))
	}
}

// fill returns the colour of a kind by its index in Kinds.
func fill(i int) string {
	if i < 0 {
		return "#bbbbbb"
	}
	c := colours[i%len(colours)]
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
}

// axis draws lines at round times, in milliseconds.
func (p *timePicture) axis() {
	total := float64(p.length) / float64(time.Millisecond)
	step := math.Pow(10, math.Floor(math.Log10(total/4)))
	for _, m := range []float64{5, 2} {
		if total/(step*m) >= 6 {
			step *= m
			break
		}
	}
	for k := 0; float64(k)*step <= total; k++ {
		x := p.left + timeWidth*float64(k)*step/total
		p.printf(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#dddddd"/>`+"\n", x,
			headRoom-8, x, p.bottom)
		p.text(x, p.bottom+16, `text-anchor="middle" fill="#777777"`,
			fmt.Sprintf("%.4g", float64(k)*step))
	}
	p.text(p.left+timeWidth/2, p.bottom+34, `text-anchor="middle" fill="#777777"`, "milliseconds")
}

// row draws the boxes of a row and its tags.
func (p *timePicture) row(r *timeRow) {
	p.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#000000" `+
		`fill-opacity="0.035"/>`+"\n", p.left, r.y, timeWidth, r.height())
	p.text(p.left-10, r.y+boxHeight/2+4, `text-anchor="end"`, clean(r.name))
	for l, level := range r.levels {
		for _, b := range level {
			p.box(b, r.y+boxHeight*float64(l)+1, boxHeight-2)
		}
	}
	for _, b := range r.inside {
		p.box(b.Box, r.y+boxHeight*(float64(b.level)+0.65), 0.35*boxHeight-1)
	}
	for _, t := range r.tags {
		p.tag(t, r.y+r.height())
	}
}

// width returns the width of a box, which is never too small to see.
func (p *timePicture) width(b Box) float64 { return max(p.x(b.End)-p.x(b.Start), 1.5) }

// fits reports whether the label of b has room inside.
func (p *timePicture) fits(b Box) bool {
	return labelWidth*float64(len([]rune(clean(b.Label))))+6 <= p.width(b)
}

func (p *timePicture) box(b Box, y, height float64) {
	const grain = 100 * time.Nanosecond
	x, width := p.x(b.Start), p.width(b)
	p.printf(`<g><title>`)
	p.escape(clean(fmt.Sprintf("%s: %v from %v", strings.TrimSpace(b.Label+" "+b.Note),
		(b.End - b.Start).Round(grain), (b.Start - p.from).Round(grain))))
	p.printf(`</title><rect x="%.2f" y="%.1f" width="%.2f" height="%.1f" rx="%.1f" `+
		`fill="%s" stroke="#ffffff" stroke-width="0.7"/>`,
		x, y, width, height, min(2, width/3), fill(slices.Index(p.Kinds, b.Kind)))
	if p.fits(b) && height > 12 {
		p.text(x+width/2, y+height/2+4, `text-anchor="middle" font-size="11" fill="#ffffff"`,
			clean(b.Label))
	}
	p.printf("</g>\n")
}
