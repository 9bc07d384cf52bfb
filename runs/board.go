package runs

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"time"

	"gomx/runs/tensorboard"
)

// board writes event files of TensorBoard beside the run's own. The run's lock is held in calls.
type board struct {
	log *journal
	enc tensorboard.Encoder
}

// openBoard begins a file of events for TensorBoard.
func openBoard(c *config, dir string) (*board, error) {
	if c.boardDir != "" {
		dir = c.boardDir
	}
	if c.rank > 0 {
		dir = filepath.Join(dir, fmt.Sprintf("worker-%d", c.rank))
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("runs: TensorBoard: %w", err)
	}
	now := time.Now()
	f, err := os.OpenFile(filepath.Join(dir, tensorboard.FileName(now)),
		os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, fmt.Errorf("runs: TensorBoard: %w", err)
	}
	b := &board{log: newJournal(f)}
	buf := b.enc.Begin(b.log.begin(), now)
	if c.from > 0 {
		buf = b.enc.Restart(buf, tensorboard.At{Step: c.from + 1, Time: now.UnixNano()})
	}
	b.log.commit(buf)
	return b, nil
}

func (b *board) scalars(step, now int64, points []Point, tags []string) {
	buf := b.log.begin()
	for _, p := range points {
		buf = b.enc.Scalar(buf, tensorboard.At{Step: step, Time: now}, tags[p.Tag], p.Value)
	}
	b.log.commit(buf)
}

func (b *board) histogram(name string, h *Histogram) {
	t := tensorboard.Histogram{Min: h.Min, Max: h.Max, Sum: h.Sum, Squares: h.Squares,
		Count: h.Count, Counts: h.Counts, Limit: h.limit}
	b.log.commit(b.enc.Histogram(b.log.begin(), tensorboard.At{Step: h.Step, Time: h.Time}, name,
		&t))
}

// image writes a picture in PNG; others are passed over.
func (b *board) image(name string, step int64, picture []byte) {
	c, err := png.DecodeConfig(bytes.NewReader(picture))
	if err != nil {
		return
	}
	b.log.commit(b.enc.Image(b.log.begin(), tensorboard.At{Step: step, Time: time.Now().UnixNano()},
		name, tensorboard.Picture{Width: c.Width, Height: c.Height, PNG: picture}))
}

func (b *board) graph(g *Graph) {
	list := make([]tensorboard.Node, len(g.Nodes))
	for i, n := range g.Nodes {
		op := n.Op
		if op == "" {
			op = "Placeholder"
		}
		list[i] = tensorboard.Node{Name: n.Name, Op: op, In: n.In, Shape: n.Shape}
	}
	b.log.commit(b.enc.Graph(b.log.begin(), time.Now(), list))
}
