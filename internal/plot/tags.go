package plot

import (
	"cmp"
	"math"
	"slices"
)

// tag is a label that did not fit into its box. It hangs below the row at an angle, at the end of a
// line from the box.
type tag struct {
	from, to float64 // the line goes from the box at from to the text at to
	text     string
}

// Sizes of tags in pixels.
const (
	tagSlant = 50.0 // degrees
	tagDrop  = 12.0 // from the boxes to the text
	tagPitch = 12.0 // distance of two tags
	tagChar  = 5.6
	tagSlots = 400 // most tags of a row: nobody reads the names in a fuller picture
)

// hang lists the tags of a row from right to left. Boxes with the same label and almost the same
// place share a tag.
func (p *timePicture) hang(r *timeRow) []tag {
	var tags []tag
	for _, level := range r.levels {
		for _, b := range level {
			if text := clean(b.Label); text != "" && !p.fits(b) && len(tags) < tagSlots {
				x := p.x(b.Start) + p.width(b)/2
				tags = append(tags, tag{x, x, text})
			}
		}
	}
	slices.SortStableFunc(tags, func(a, b tag) int { return cmp.Compare(b.from, a.from) })
	tags = slices.CompactFunc(tags, func(a, b tag) bool {
		return a.text == b.text && a.from-b.from < tagPitch
	})
	for i := 1; i < len(tags); i++ {
		tags[i].to = min(tags[i].from, tags[i-1].to-tagPitch)
	}
	return tags
}

// tagRoom returns the height of the tags of a row.
func tagRoom(tags []tag) float64 {
	room := 0.0
	for _, t := range tags {
		room = max(room, tagDrop+6+tagChar*float64(len([]rune(t.text)))*math.Sin(
			tagSlant*math.Pi/180))
	}
	return room
}

// tag draws t below a row that ends at y.
func (p *timePicture) tag(t tag, y float64) {
	p.printf(`<path d="M%.1f,%.1f L%.1f,%.1f" stroke="#999999" stroke-width="0.6" fill="none"/>`,
		t.from, y, t.to, y+tagDrop-3)
	p.printf(`<g transform="translate(%.1f %.1f) rotate(%g)">`, t.to, y+tagDrop, -tagSlant)
	p.text(0, 6, `text-anchor="end" font-size="10" fill="#555555"`, t.text)
	p.printf("</g>\n")
}
