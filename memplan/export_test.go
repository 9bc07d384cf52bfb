package memplan

// Search plans buffers as one group, and returns the total, the offsets and the visits that it took.
func Search(buffers []Buffer, align int64, rounds int) (total int64, offsets []int64, visits int64) {
	g := groups(buffers, Config{Align: align})[0]
	work := int64(scanBudget)
	l := search(g.items, g.live, rounds, &work)
	return l.total, l.offsets, scanBudget - work
}

// Retrace looks for a placement of the buffers with extra bytes more than the lower bound.
func Retrace(buffers []Buffer, align, extra int64) (total int64, offsets []int64, visits int64,
	found bool) {
	g := groups(buffers, Config{Align: align})[0]
	work := int64(scanBudget)
	l, found := retrace(g.items, peak(g.live)+extra, &work)
	return l.total, l.offsets, scanBudget - work, found
}
