package engine

import "gomx/device"

// Begin makes a queue of a device wait for the inputs of the operation. The body of a Queued
// operation calls it before it puts work on the queue.
func (r *Run) Begin(q device.Queue) error {
	for _, e := range r.Waits() {
		if err := q.Wait(e); err != nil {
			return err
		}
	}
	return nil
}

// Finish ends the body of a Queued operation that has put its work on q: the operation counts as
// issued, and done is called when the device has come to the end of its work. If the body failed,
// failed holds its error: nothing is issued, and done gets the error after the work on the queue.
func (r *Run) Finish(q device.Queue, done func(error), failed error) {
	mark, err := q.Mark()
	switch {
	case failed != nil && err == nil:
		q.Notify(mark, func(error) { done(failed) })
	case failed != nil:
		done(failed)
	case err != nil:
		done(err)
	default:
		r.Issue(mark)
		q.Notify(mark, done)
	}
}
