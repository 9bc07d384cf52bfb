package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Series is one line: the values of a quantity over time.
type Series struct {
	Name     string    // for the legend; equal names get the same colour
	Quantity string    // the panel it belongs to and the label of its axis
	X, Y     []float64 // epochs and values, of the same length
}

// Sizes of the picture.
const (
	panelWidth  = 7.5 * vg.Inch
	panelHeight = 2.5 * vg.Inch
	titleHeight = 0.4 * vg.Inch
	margin      = 0.15 * vg.Inch
	maxMarks    = 40 // lines with more points are drawn without marks
)

// colours can be distinguished by colour-blind readers.
var colours = []color.RGBA{
	{0x4c, 0x78, 0xa8, 0xff}, {0xf5, 0x85, 0x18, 0xff}, {0x54, 0xa2, 0x4b, 0xff},
	{0xe4, 0x57, 0x56, 0xff}, {0xb2, 0x79, 0xa2, 0xff}, {0x72, 0xb7, 0xb2, 0xff},
}

// Curves draws the series as an SVG picture, one panel per quantity in the
// order of their first appearance, over a common axis of epochs. Values that
// are not finite interrupt a line.
func Curves(w io.Writer, title string, series ...Series) error {
	if len(series) == 0 {
		return fmt.Errorf("plot: %q has no series to draw", title)
	}
	var quantities, names []string
	for _, s := range series {
		if len(s.X) != len(s.Y) {
			return fmt.Errorf("plot: series %q of %q has %d X and %d Y values", s.Name, s.Quantity,
				len(s.X), len(s.Y))
		}
		if !slices.Contains(quantities, s.Quantity) {
			quantities = append(quantities, s.Quantity)
		}
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	panels := make([][]*plot.Plot, len(quantities))
	for i, q := range quantities {
		p, err := panel(q, names, series)
		if err != nil {
			return err
		}
		panels[i] = []*plot.Plot{p}
	}
	alignX(panels)
	panels[len(panels)-1][0].X.Label.Text = "epoch"
	return render(w, title, panels)
}

// panel draws all series of one quantity.
func panel(quantity string, names []string, series []Series) (*plot.Plot, error) {
	p := plot.New()
	sans(p)
	p.Y.Label.Text = clean(quantity)
	p.X.Tick.Marker = plot.TickerFunc(wholeTicks)
	p.Legend.Top = true
	p.Legend.Padding = vg.Points(3)
	p.Legend.ThumbnailWidth = vg.Points(18)
	p.Legend.XOffs = -vg.Points(4)
	p.X.Label.Padding, p.Y.Label.Padding = vg.Points(4), vg.Points(4)
	p.X.Tick.Length, p.Y.Tick.Length = vg.Points(4), vg.Points(4)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xe0}, color.Gray{0xe0}
	p.Add(grid)
	for _, s := range series {
		if s.Quantity != quantity {
			continue
		}
		c := colours[slices.Index(names, s.Name)%len(colours)]
		var entry []plot.Thumbnailer
		for _, part := range finite(s) {
			line, marks, err := plotter.NewLinePoints(part)
			if err != nil {
				return nil, fmt.Errorf("plot: series %q of %q: %w", s.Name, s.Quantity, err)
			}
			line.Color, line.Width = c, vg.Points(1.6)
			marks.Color, marks.Shape, marks.Radius = c, draw.CircleGlyph{}, vg.Points(2)
			p.Add(line)
			if entry == nil {
				entry = append(entry, line)
			}
			if len(s.X) <= maxMarks {
				p.Add(marks)
			}
		}
		p.Legend.Add(clean(s.Name)+"  ", entry...) // a viewer may use a wider font
	}
	roomForLegend(p)
	return p, nil
}

// finite splits a series where a value is not finite.
func finite(s Series) []plotter.XYs {
	var parts []plotter.XYs
	open := false
	for i := range s.X {
		ok := !math.IsNaN(s.X[i]+s.Y[i]) && !math.IsInf(s.X[i], 0) && !math.IsInf(s.Y[i], 0)
		if ok && !open {
			parts = append(parts, nil)
		}
		if ok {
			last := &parts[len(parts)-1]
			*last = append(*last, plotter.XY{X: s.X[i], Y: s.Y[i]})
		}
		open = ok
	}
	return parts
}

// roomForLegend gives a panel a range that is not empty, with free space above the lines for the
// legend.
func roomForLegend(p *plot.Plot) {
	if p.Y.Min > p.Y.Max {
		p.Y.Min, p.Y.Max = 0, 1
	}
	height := p.Y.Max - p.Y.Min
	if height == 0 {
		height = max(math.Abs(p.Y.Max), 1) * 0.1
	}
	p.Y.Min -= 0.05 * height
	p.Y.Max += 0.25 * height
}

// alignX gives all panels the same range of epochs.
func alignX(panels [][]*plot.Plot) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, row := range panels {
		lo, hi = min(lo, row[0].X.Min), max(hi, row[0].X.Max)
	}
	if lo > hi {
		lo, hi = 0, 1
	}
	if lo == hi {
		lo, hi = lo-1, hi+1
	}
	for _, row := range panels {
		row[0].X.Min, row[0].X.Max = lo, hi
	}
}

// wholeTicks labels whole epochs only, at most a dozen.
func wholeTicks(lo, hi float64) []plot.Tick {
	step := 1.0
	// 1, 2, 5, 10, 20, 50, …
	for _, m := range []float64{2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2} {
		if (hi-lo)/step <= 12 {
			break
		}
		step *= m
	}
	if (hi-lo)/step > 12 {
		return plot.DefaultTicks{}.Ticks(lo, hi)
	}
	var ticks []plot.Tick
	for v := math.Ceil(lo/step) * step; v <= hi; v += step {
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.0f", v)})
	}
	return ticks
}

// sans sets all text of a plot in a sans-serif face.
func sans(p *plot.Plot) {
	for _, f := range []*font.Font{
		&p.Title.TextStyle.Font, &p.Legend.TextStyle.Font,
		&p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font,
		&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font,
	} {
		f.Variant = "Sans"
		f.Size = 10
	}
}

// render draws the panels below each other under the title and writes SVG.
func render(w io.Writer, title string, panels [][]*plot.Plot) error {
	rows := len(panels)
	height := titleHeight + panelHeight*vg.Length(rows) + 2*margin
	canvas := vgsvg.New(panelWidth, height)
	all := draw.New(canvas)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	style := panels[0][0].Title.TextStyle
	style.Font.Size = 13
	style.XAlign, style.YAlign = draw.XCenter, draw.YTop
	all.FillText(style, vg.Point{X: all.Center().X, Y: all.Max.Y - margin}, clean(title))
	inner := draw.Crop(all, margin, -margin, margin, -margin-titleHeight)
	tiles := draw.Tiles{Rows: rows, Cols: 1, PadY: margin}
	for i, row := range plot.Align(panels, tiles, inner) {
		panels[i][0].Draw(row[0])
	}
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	// The named font is rarely installed; the other fonts have the same character widths.
	svg := bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Helvetica,Arial,sans-serif;"))
	_, err := w.Write(svg)
	return err
}
