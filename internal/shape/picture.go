package main

import (
	"fmt"
	"html"
	"regexp"
	"strings"
)

// The geometry of the picture in pixels.
const (
	boxLeft, boxesWide    = 20, 890
	boxTop, boxHigh, down = 56, 36, 46 // first box, height of a box, distance of two rows
	gapBetween            = 10
)

// colours are the fills of boxes by the beginning of their text; the first that fits counts.
var colours = []struct{ begin, fill, name string }{
	{"examples", "#e8edf3", "programs"}, {"cmd", "#e8edf3", ""}, {"internal", "#e8edf3", ""},
	{"launch", "#f3d9c6", "distribution"}, {"kvstore", "#f3d9c6", ""},
	{"op", "#d6dff0", "operators and graphs"}, {"graph", "#d6dff0", ""}, {"compile", "#d6dff0", ""},
	{"exec", "#efe3c2", "execution"}, {"engine", "#efe3c2", ""}, {"memplan", "#efe3c2", ""},
	{"device", "#efe3c2", ""}, {"dtype", "#efe3c2", ""},
	{"", "#cfe3d4", "programming model"},
}

// layersOf finds the list of layers in a page: the first block between lines of three backquotes.
func layersOf(page string) []string {
	_, rest, _ := strings.Cut(page, "```\n")
	block, _, _ := strings.Cut(rest, "```")
	return strings.Split(strings.TrimSpace(block), "\n")
}

var remark = regexp.MustCompile(`\s{3,}.*$`)

// boxes are the texts of the boxes of one layer. Families of operators share one box.
func boxes(layer string) []string {
	list := strings.Fields(remark.ReplaceAllString(layer, ""))
	families := 0
	for _, b := range list {
		if strings.HasPrefix(b, "op/") {
			families++
		}
	}
	if families < 5 {
		return list
	}
	return []string{"op/" + strings.ReplaceAll(strings.Join(list, " ")[len("op/"):], " op/", "  ")}
}

// fill is the colour of a box.
func fill(text string) string {
	for _, c := range colours {
		rest, ok := strings.CutPrefix(text, c.begin)
		if ok && (c.begin == "" || c.begin == "op" && (rest == "" || rest[0] == '/') ||
			c.begin != "op") {
			return c.fill
		}
	}
	return ""
}

// draw makes an SVG picture of layers, the highest first: a row for each layer, a box for each
// package, and an arrow that points down.
func draw(layers []string) string {
	var b strings.Builder
	high := boxTop + down*len(layers) + 40
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="980" height="%d" `+
		`viewBox="0 0 980 %d" font-family="Liberation Sans,Helvetica,Arial,sans-serif" `+
		`font-size="14" fill="#222222">`+"\n", high, high)
	b.WriteString("<title>The layers of gomx: every package imports only packages on lines below " +
		"its own</title>\n")
	fmt.Fprintf(&b, `<rect width="980" height="%d" fill="#ffffff"/>`+"\n", high)
	b.WriteString(`<defs><marker id="tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="8" ` +
		`markerHeight="8" orient="auto"><path d="M0,0 L10,5 L0,10 z" fill="#777777"/></marker>` +
		"</defs>\n")
	x := boxLeft
	for _, c := range colours {
		if c.name == "" {
			continue
		}
		fmt.Fprintf(&b, `<rect x="%d" y="20" width="14" height="14" rx="2" fill="%s"/>`+
			`<text x="%d" y="32" font-size="12">%s</text>`+"\n", x, c.fill, x+20, c.name)
		x += 50 + 7*len(c.name)
	}
	for row, layer := range layers {
		drawRow(&b, boxes(layer), boxTop+down*row)
	}
	bottom := boxTop + down*(len(layers)-1) + boxHigh
	fmt.Fprintf(&b, `<line x1="944" y1="%d" x2="944" y2="%d" stroke="#777777" stroke-width="1.5" `+
		`marker-end="url(#tip)"/>`+"\n", boxTop+4, bottom-4)
	fmt.Fprintf(&b, `<text transform="translate(962 %d) rotate(90)" text-anchor="middle" `+
		`fill="#777777" font-size="12">imports point down</text>`+"\n", (boxTop+bottom)/2)
	fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="12" fill="#777777">Packages of one line do `+
		"not know each other.</text>\n</svg>\n", boxLeft, bottom+28)
	return b.String()
}

// drawRow draws boxes side by side. Boxes get room in proportion to their texts.
func drawRow(b *strings.Builder, texts []string, y int) {
	const margin = 6 // characters beside each text
	all := 0
	for _, t := range texts {
		all += len(t) + margin
	}
	wide, x := boxesWide-gapBetween*(len(texts)-1), float64(boxLeft)
	for _, t := range texts {
		w := float64(wide) * float64(len(t)+margin) / float64(all)
		size := 14
		if float64(len(t))*7.5 > w {
			size = 11
		}
		fmt.Fprintf(b, `<rect x="%.0f" y="%d" width="%.0f" height="%d" rx="4" fill="%s"/>`+
			`<text x="%.0f" y="%d" text-anchor="middle" font-size="%d">%s</text>`+"\n", x, y, w,
			boxHigh, fill(t), x+w/2, y+23, size, html.EscapeString(t))
		x += w + gapBetween
	}
}
