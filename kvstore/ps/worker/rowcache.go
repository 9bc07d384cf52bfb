package worker

// rowCache keeps rows of a sparse key that a worker has read, in stores in which the staleness has a
// bound.
type rowCache struct {
	rows  map[uint64]cached
	limit int // rows; 0: none is kept
}

// cached is a row that was read.
type cached struct {
	data  []byte // owned by the cache
	clock uint64 // all workers' pushes up to here are in it
}

// find returns a row if it is not older than a clock.
func (c *rowCache) find(id, need uint64) ([]byte, bool) {
	hit, ok := c.rows[id]
	return hit.data, ok && hit.clock >= need
}

// keep keeps a row. A full cache is emptied: which rows are read next is not known.
func (c *rowCache) keep(id uint64, data []byte, clock uint64) {
	old, ok := c.rows[id]
	if !ok && len(c.rows) >= c.limit {
		if c.limit == 0 {
			return
		}
		clear(c.rows)
	}
	c.rows[id] = cached{data: append(old.data[:0], data...), clock: clock}
}
