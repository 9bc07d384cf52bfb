package memplan

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
)

// The picture's geometry in pixels, its colours, and its numbers of ticks. Rectangles smaller than
// labelWidth times labelHeight have their name in the tooltip only.
const (
	picWidth, picHeight       = 1100.0, 640.0
	padLeft, padRight         = 90.0, 20.0
	padTop, padBottom         = 70.0, 50.0
	plotWidth                 = picWidth - padLeft - padRight
	plotHeight                = picHeight - padTop - padBottom
	labelWidth, labelHeight   = 48.0, 12.0 // smallest rectangle with its name inside
	charWidth                 = 5.6
	gridColour, textColour    = "#d8d8d8", "#333333"
	boundColour, liveColour   = "#b00020", "#222222"
	valueColour               = "#ffffff"
	fontFamily                = "Helvetica,Arial,sans-serif"
	timeTicks, addressTicks   = 12, 8
	strokeWidth, markOpacity  = 0.6, 0.9
	legendStep, legendSwatch  = 110.0, 11.0
	titleY, legendY, axisGapY = 24.0, 50.0, 18.0
)

// kindColours are fills by kind, which colour-blind readers can tell apart.
var kindColours = [numKinds]string{
	Activation: "#4c78a8",
	Gradient:   "#f58518",
	Scratch:    "#bab0ac",
	Output:     "#54a24b",
	Copy:       "#b279a2",
}

// SVG draws the plan: steps from left to right, addresses from bottom to top,
// one rectangle per buffer in the colour of its kind, with name, size and life
// as a tooltip. White strokes inside a rectangle mark where the next value of
// an in-place chain takes over. The line on top of the filled area is the sum
// of the bytes alive, the dashed one the lower bound.
func (p *Plan) SVG(w io.Writer, buffers []Buffer) error {
	if len(buffers) != len(p.Offsets) {
		return fmt.Errorf("memplan: picture of %d buffers, but the plan has %d", len(buffers),
			len(p.Offsets))
	}
	c := newCanvas(w, p, buffers)
	c.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" font-family="%s" font-size="11" fill="%s">`+"\n",
		picWidth, picHeight, picWidth, picHeight, fontFamily, textColour)
	c.printf(`<rect width="100%%" height="100%%" fill="#ffffff"/>` + "\n")
	c.text(padLeft, titleY, "start", `font-size="14"`, p.String())
	c.legend(buffers)
	c.axes()
	for i := range buffers {
		if buffers[i].Bytes > 0 {
			c.buffer(&buffers[i], p.Offsets[i])
		}
	}
	c.live(buffers)
	c.bound()
	c.printf("</svg>\n")
	return c.out.Flush()
}

// canvas maps steps and addresses to pixels: the first step to the left edge of the plot, address 0
// to its lower edge. It belongs to one call of SVG. Errors of writing are kept by out until Flush.
type canvas struct {
	out         *bufio.Writer
	plan        *Plan
	first, last float64 // steps shown, from first up to but without last; last > first
	top         float64 // highest address shown, in bytes; at least 1
}

func newCanvas(w io.Writer, p *Plan, buffers []Buffer) *canvas {
	c := &canvas{out: bufio.NewWriter(w), plan: p, first: math.MaxFloat64, last: 1,
		top: max(1, float64(p.Total))}
	for _, b := range buffers {
		c.first = min(c.first, float64(b.Start))
		c.last = max(c.last, float64(b.End)+1)
	}
	c.first = min(c.first, c.last-1)
	return c
}

func (c *canvas) x(step float64) float64 {
	return padLeft + (step-c.first)/(c.last-c.first)*plotWidth
}

func (c *canvas) y(address float64) float64 {
	return padTop + (1-address/c.top)*plotHeight
}

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }

// text writes a line of text; attributes go into the tag as they are.
func (c *canvas) text(x, y float64, anchor, attributes, text string) {
	c.printf(`<text x="%.1f" y="%.1f" text-anchor="%s" %s>%s</text>`+"\n", x, y, anchor, attributes,
		escape(text))
}

// line draws a straight line between two points in pixels.
func (c *canvas) line(x1, y1, x2, y2 float64, colour, attributes string) {
	c.printf(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" %s/>`+"\n", x1, y1, x2, y2,
		colour, attributes)
}

// legend names the colours of the kinds that occur. Kinds that this package does not know are grey
// and have no name.
func (c *canvas) legend(buffers []Buffer) {
	var sums [numKinds]int64
	for _, b := range buffers {
		if b.Kind < numKinds {
			sums[b.Kind] += b.Bytes
		}
	}
	x := padLeft
	for k, sum := range sums {
		if sum == 0 {
			continue
		}
		c.printf(`<rect x="%.1f" y="%.1f" width="%g" height="%g" fill="%s"/>`+"\n",
			x, legendY-legendSwatch+1, legendSwatch, legendSwatch, kindColours[k])
		c.text(x+legendSwatch+5, legendY, "start", "", Kind(k).String())
		x += legendStep
	}
}

// axes draws the grid with round numbers: multiples of 1, 2 or 5 times a power of ten for steps,
// powers of two for bytes.
func (c *canvas) axes() {
	for _, v := range ticks(c.first, c.last-1, timeTicks, decimalStep) {
		c.line(c.x(v), padTop, c.x(v), padTop+plotHeight, gridColour, `stroke-width="0.5"`)
		c.text(c.x(v), padTop+plotHeight+axisGapY, "middle", "", fmt.Sprintf("%.0f", v))
	}
	for _, v := range ticks(0, c.top, addressTicks, binaryStep) {
		c.line(padLeft, c.y(v), padLeft+plotWidth, c.y(v), gridColour, `stroke-width="0.5"`)
		c.text(padLeft-8, c.y(v)+4, "end", "", formatBytes(int64(v)))
	}
	c.text(padLeft+plotWidth/2, picHeight-10, "middle", "", "step")
}

// buffer draws one rectangle, its name where it fits, and its in-place chain. The border gets
// thinner with the rectangle, or it would hide small buffers of large plans.
func (c *canvas) buffer(b *Buffer, offset int64) {
	x, right := c.x(float64(b.Start)), c.x(float64(b.End)+1)
	y, bottom := c.y(float64(offset+b.Bytes)), c.y(float64(offset))
	fill := "#888888"
	if b.Kind < numKinds {
		fill = kindColours[b.Kind]
	}
	name := b.Name
	if name == "" {
		name = b.Kind.String()
	}
	c.printf(`<g><title>%s`+"\n"+`%s, %s at %d, steps %d to %d`, escape(name), b.Kind,
		formatBytes(b.Bytes), offset, b.Start, b.End)
	for _, v := range b.Values {
		c.printf("\nstep %d: %s", v.Step, escape(v.Name))
	}
	c.printf(`</title><rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="%s" stroke="#ffffff" stroke-width="%.2f"/>`,
		x, y, right-x, bottom-y, fill, min(strokeWidth, (bottom-y)/6, (right-x)/6))
	for _, v := range b.Values {
		if v.Step > b.Start && v.Step <= b.End {
			c.line(c.x(float64(v.Step)), y, c.x(float64(v.Step)), bottom, valueColour,
				fmt.Sprintf(`stroke-opacity="%g" stroke-dasharray="2 2"`, markOpacity))
		}
	}
	if right-x >= labelWidth && bottom-y >= labelHeight && b.Name != "" {
		runes := []rune(b.Name)
		if excess := len(runes) - int((right-x-6)/charWidth); excess > 0 {
			// The end of a name tells more: the beginning is the network's.
			runes = append([]rune{'…'}, runes[excess+1:]...)
		}
		c.text(x+3, (y+bottom)/2+4, "start", `font-size="10" fill="#ffffff" pointer-events="none"`,
			string(runes))
	}
	c.printf("</g>\n")
}

// live draws the sum of the bytes alive over time: a level for every rank, from its first to its
// last step. A rank is the start of some buffers, the end of some, or both.
func (c *canvas) live(buffers []Buffer) {
	all := make([]int32, len(buffers))
	starts := map[int32]int{} // by rank
	for i := range all {
		all[i] = int32(i)
	}
	g := newGroup(buffers, all, c.plan.Align)
	ends := map[int32]int{}
	for _, it := range g.items {
		starts[it.start] = buffers[it.index].Start
		ends[it.end] = buffers[it.index].End
	}
	var path strings.Builder
	for t, sum := range g.live {
		from, isStart := starts[int32(t)]
		to, isEnd := ends[int32(t)]
		if !isStart {
			from = to
		}
		if !isEnd {
			to = from
		}
		fmt.Fprintf(&path, "%.1f,%.1f %.1f,%.1f ", c.x(float64(from)), c.y(float64(sum)),
			c.x(float64(to)+1), c.y(float64(sum)))
	}
	c.printf(`<polyline fill="none" stroke="%s" stroke-width="1.2" stroke-opacity="0.7" points="%s"><title>bytes alive</title></polyline>`+"\n", liveColour, path.String())
}

// bound draws the lower bound, as a dashed line with its size at the right end.
func (c *canvas) bound() {
	y := c.y(float64(c.plan.LowerBound))
	c.line(padLeft, y, padLeft+plotWidth, y, boundColour, `stroke-dasharray="6 4"`)
	c.text(padLeft+plotWidth, y-4, "end", fmt.Sprintf(`fill="%s"`, boundColour),
		"lower bound "+formatBytes(c.plan.LowerBound))
}

// ticks returns the multiples of a round step from lo to hi, about n of them and at most 2n+1.
// round rounds a step up; steps are at least 1, because neither a step nor a byte can be divided.
func ticks(lo, hi float64, n int, round func(float64) float64) []float64 {
	step := max(1, round((hi-lo)/float64(n)))
	var out []float64
	for v := math.Ceil(lo/step) * step; v <= hi && len(out) <= 2*n; v += step {
		out = append(out, v)
	}
	return out
}

// decimalStep rounds up to 1, 2 or 5 times a power of ten.
func decimalStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(max(v, 1))))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v {
			return m * power
		}
	}
	return 10 * power
}

// binaryStep rounds up to a power of two.
func binaryStep(v float64) float64 { return math.Exp2(math.Ceil(math.Log2(max(v, 1)))) }

// escape makes any string legal inside XML: names come from files of users.
func escape(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		return ""
	}
	return b.String()
}
