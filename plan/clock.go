package plan

import "container/heap"

// clock is virtual time: a list of things to happen.
type clock struct {
	now   float64 // seconds
	queue events
	count uint64 // events so far, which orders those of one instant
}

// event is something that happens at an instant.
type event struct {
	at    float64
	order uint64
	do    func()
}

// at lets something happen at an instant, or now if the instant has passed.
func (c *clock) at(when float64, do func()) {
	c.count++
	heap.Push(&c.queue, event{max(when, c.now), c.count, do})
}

// run lets everything happen.
func (c *clock) run() {
	for len(c.queue) > 0 {
		e := heap.Pop(&c.queue).(event)
		c.now = e.at
		e.do()
	}
}

// events is a heap: the earliest event comes first.
type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }

func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	old[len(old)-1] = event{}
	*e = old[:len(old)-1]
	return last
}
