//go:build cuda

package cuda

// Joint is a launch that kernels of one kind join while a queue gathers.
type Joint interface {
	// Put puts the launch on q unless no kernel has joined, and leaves it empty.
	Put(q *Queue) error
}

// gathering is the state of a queue that gathers kernels. Only the goroutine that puts work on the
// queue uses it.
type gathering struct {
	on    bool
	joint Joint   // the launch that kernels join; kept for the next time, nil before the first
	late  []Joint // the launches that are put before the next mark, one of a type; kept likewise
}

// Gather implements device.Gatherer.
func (q *Queue) Gather(work func() error) error {
	q.gather.on = true
	err := work()
	if put := q.putJoint(); err == nil {
		err = put
	}
	q.gather.on = false
	return err
}

// Joint returns the launch that kernels may join instead of being put on q, made by create if there
// is none; nil if q does not gather.
func (q *Queue) Joint(create func() Joint) Joint {
	if q.gather.on && q.gather.joint == nil {
		q.gather.joint = create()
	}
	if !q.gather.on {
		return nil
	}
	return q.gather.joint
}

// putJoint puts the gathered launch on q, before work that is not gathered.
func (q *Queue) putJoint() error {
	if !q.gather.on || q.gather.joint == nil {
		return nil
	}
	q.gather.on = false
	defer func() { q.gather.on = true }()
	return q.gather.joint.Put(q)
}

// Late returns the launch of a type that q puts before its next mark, made by create if there is none.
// Nothing that is put on q before the mark may read its results or overwrite its operands, unless
// PutLate is called before.
func Late[J Joint](q *Queue, create func() J) J {
	for _, j := range q.gather.late {
		if found, ok := j.(J); ok {
			return found
		}
	}
	j := create()
	q.gather.late = append(q.gather.late, j)
	return j
}

// PutLate puts the late launches on q now.
func (q *Queue) PutLate() error {
	for _, j := range q.gather.late {
		if err := j.Put(q); err != nil {
			return err
		}
	}
	return nil
}
