package pipeline

import (
	"context"

	nd "gomx/ndarray"
	"gomx/pipeline/flow"
)

// Item is an array that stage 0 collects, such as a parameter for a file.
type Item struct {
	Stage int // stage that has the array
	Bytes int
}

// AddItems returns links with one more for each item of another stage than the first, and the
// number of rounds for flow.Config.
func AddItems(links []flow.Link, items []Item) (_ []flow.Link, rounds int) {
	for i, item := range items {
		if item.Stage != 0 {
			links = append(links, flow.Link{From: item.Stage, Bytes: int64(item.Bytes),
				Round: i + 1})
		}
	}
	return links, len(items)
}

// collection is the work of a stage in a step that collects items. It implements Work.
type collection struct {
	ctx   context.Context // of the step
	link  *Link
	items []Item
	own   func(item int) *nd.Array
	write func(item int, data []byte) error // of stage 0
	taken []byte                            // item of another stage, for the next action of stage 0
}

// Collect passes the items to write in stage 0, in their order, which is the order given to
// AddItems. All stages call it; own returns the arrays of the items that a stage has. No stage
// holds more items in memory at a time than its window and one more.
func (l *Link) Collect(ctx context.Context, items []Item, own func(item int) *nd.Array,
	write func(item int, data []byte) error) error {
	return l.Step(ctx, flow.Collect, &collection{ctx: ctx, link: l, items: items, own: own,
		write: write})
}

// Take implements Work.
func (c *collection) Take(_ flow.Tensor, data []byte) error {
	c.taken = append(c.taken[:0], data...)
	return nil
}

// Run implements Work: stage 0 writes an item.
func (c *collection) Run(a flow.Action) error {
	if c.link.cfg.Flow.Stage != 0 {
		return nil
	}
	if c.items[a.Micro].Stage != 0 {
		return c.write(a.Micro, c.taken)
	}
	data := c.link.memory.get(c.items[a.Micro].Bytes)
	defer c.link.memory.put(data)
	if err := c.own(a.Micro).ReadBytes(c.ctx, data); err != nil {
		return err
	}
	return c.write(a.Micro, data)
}

// Give implements Work.
func (c *collection) Give(ctx context.Context, t flow.Tensor, data []byte) error {
	return c.own(t.Micro).ReadBytes(ctx, data)
}
