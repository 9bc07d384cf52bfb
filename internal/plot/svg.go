package plot

import (
	"bufio"
	"encoding/xml"
	"fmt"
)

// svg is a picture that is being written. Flush reports errors: a bufio.Writer keeps its first.
type svg struct{ out *bufio.Writer }

func (p *svg) printf(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

// text writes a line of text; attributes are inserted into the tag unchanged.
func (p *svg) text(x, y float64, attributes, text string) {
	p.printf(`<text x="%.1f" y="%.1f" %s>`, x, y, attributes)
	p.escape(text)
	p.printf("</text>\n")
}

// escape writes text with XML escapes.
func (p *svg) escape(text string) { _ = xml.EscapeText(p.out, []byte(text)) }

// open writes the beginning of a picture, with a white background.
func (p *svg) open(width, height float64) {
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" `+
		`font-family="%s" font-size="12" fill="#333333">`+"\n",
		width, height, width, height, faces)
	p.printf(`<rect width="100%%" height="100%%" fill="#ffffff"/>` + "\n")
}

// close ends the picture.
func (p *svg) close() error {
	p.printf("</svg>\n")
	return p.out.Flush()
}
