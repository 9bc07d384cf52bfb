package plot

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Sizes of the matrix in pixels.
const (
	cell      = 46.0
	topRoom   = 120.0
	rightRoom = 80.0
	endRoom   = 60.0
	charWidth = 6.6
	minLeft   = 60.0
	faces     = "Liberation Sans,Helvetica,Arial,sans-serif"
)

// Confusion draws a confusion matrix as SVG: counts[t][p] is the number of examples of true class t
// that were classified as p. A shade is a share of its row, so that rare classes are as visible as
// common ones.
func Confusion(w io.Writer, labels []string, counts [][]int) error {
	n := len(labels)
	if n == 0 || len(counts) != n {
		return fmt.Errorf("plot: confusion matrix with %d labels and %d rows", n, len(counts))
	}
	for i, row := range counts {
		if len(row) != n {
			return fmt.Errorf("plot: row %q of the confusion matrix has %d counts, want %d",
				labels[i], len(row), n)
		}
		for j, c := range row {
			if c < 0 {
				return fmt.Errorf("plot: count %d of %q classified as %q, want 0 or more", c,
					labels[i], labels[j])
			}
		}
	}
	m := newMatrix(w, labels, counts)
	m.frame()
	for t := range labels {
		for p := range labels {
			m.cell(t, p)
		}
	}
	m.margins()
	return m.close()
}

// matrix is a confusion matrix being drawn.
type matrix struct {
	svg
	labels     []string
	counts     [][]int
	rows, cols []int // sums of counts
	hits, all  int
	left       float64
}

func newMatrix(w io.Writer, labels []string, counts [][]int) *matrix {
	m := &matrix{svg: svg{bufio.NewWriter(w)}, counts: counts, rows: make([]int, len(labels)),
		cols: make([]int, len(labels)), left: minLeft}
	for t, row := range counts {
		for p, c := range row {
			m.rows[t] += c
			m.cols[p] += c
			m.all += c
		}
		m.hits += row[t]
	}
	for _, label := range labels {
		label = clean(label)
		m.labels = append(m.labels, label)
		m.left = max(m.left, 44+charWidth*float64(len([]rune(label))))
	}
	return m
}

// frame opens the picture and writes title and labels.
func (m *matrix) frame() {
	n := float64(len(m.labels))
	width, height := m.left+n*cell+rightRoom, topRoom+n*cell+endRoom
	m.open(width, height)
	m.text(16, 28, `font-size="15"`, fmt.Sprintf("accuracy %s: %d of %d", share(m.hits, m.all),
		m.hits, m.all))
	m.text(m.left+n*cell+10, topRoom-8, `fill="#777777"`, "recall")
	m.text(m.left-8, topRoom+n*cell+20, `text-anchor="end" fill="#777777"`, "precision")
	m.text(m.left+n*cell/2, topRoom+n*cell+46, `text-anchor="middle" fill="#777777"`, "predicted")
	m.text(0, 0, fmt.Sprintf(`text-anchor="middle" fill="#777777" `+
		`transform="translate(22 %.1f) rotate(-90)"`, topRoom+n*cell/2), "true")
	for i, label := range m.labels {
		at := (float64(i) + 0.5) * cell
		m.text(m.left-8, topRoom+at+4, `text-anchor="end"`, label)
		m.text(0, 0, fmt.Sprintf(`transform="translate(%.1f %.1f) rotate(-40)"`, m.left+at,
			topRoom-8), label)
	}
}

// cell draws one count: blue on the diagonal, red off it.
func (m *matrix) cell(t, p int) {
	c := m.counts[t][p]
	part := 0.0
	if m.rows[t] > 0 {
		part = float64(c) / float64(m.rows[t])
	}
	far := [3]float64{0x2b, 0x5c, 0x8a}
	if t != p {
		far = [3]float64{0xb5, 0x2a, 0x2a}
		part = min(1, 2.5*part) // errors are rare: stretch their scale
	}
	var rgb [3]int
	for i := range rgb {
		rgb[i] = int(0xf7 + (far[i]-0xf7)*part)
	}
	x, y := m.left+float64(p)*cell, topRoom+float64(t)*cell
	m.printf(`<g><title>`)
	m.escape(fmt.Sprintf("%s taken for %s: %d of %d", m.labels[t], m.labels[p], c, m.rows[t]))
	m.printf(`</title><rect x="%.1f" y="%.1f" width="%g" height="%g" `+
		`fill="#%02x%02x%02x" stroke="#ffffff"/>`,
		x, y, cell, cell, rgb[0], rgb[1], rgb[2])
	ink := "#333333"
	if part > 0.45 {
		ink = "#ffffff"
	}
	if c == 0 {
		ink = "#c0c0c0"
	}
	m.text(x+cell/2, y+cell/2+4, fmt.Sprintf(`text-anchor="middle" fill="%s"`, ink), fmt.Sprint(c))
	m.printf("</g>\n")
}

// margins writes recall and precision.
func (m *matrix) margins() {
	end := float64(len(m.labels)) * cell
	for i := range m.labels {
		at := (float64(i) + 0.5) * cell
		m.text(m.left+end+10, topRoom+at+4, "", share(m.counts[i][i], m.rows[i]))
		m.text(m.left+at, topRoom+end+20, `text-anchor="middle"`, share(m.counts[i][i], m.cols[i]))
	}
}

// share formats a part of a whole, or a dash if the whole is 0.
func share(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

// clean removes characters that XML does not allow and line breaks.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == 0xfffe || r == 0xffff {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
