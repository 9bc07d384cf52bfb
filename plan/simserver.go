package plan

// simServer is a server in virtual time.
type simServer struct {
	s       *simulation
	machine int
	thread  lane
	values  map[int]*simValue // by piece
}

// simValue is a slice on its server.
type simValue struct {
	have   int          // pushes of the open round
	clocks []int        // pushes by worker
	parked []simParked  // pulls that wait for slow workers
	from   []*simWorker // workers in the open round
}

// simParked is a pull that waits.
type simParked struct {
	w     *simWorker
	clock int
}

func (s *simulation) newServer(rank int) *simServer {
	at := s.job.server(rank)
	return &simServer{s: s, machine: at, thread: lane{machine: s.machines[at], width: 1},
		values: map[int]*simValue{}}
}

// arrived takes in a push.
func (sv *simServer) arrived(w *simWorker, p int) {
	c := sv.s.costOf(sv.s.job.way(w.machine, sv.machine), &sv.s.pieces[p])
	sv.thread.push(0, &task{left: c.intake, done: func() {
		w.taken(p)
		sv.add(w, p, &c)
	}})
}

// add adds a push to the round, or changes the value by it.
func (sv *simServer) add(w *simWorker, p int, c *cost) {
	v := sv.values[p]
	if v == nil {
		v = &simValue{clocks: make([]int, sv.s.job.Workers)}
		sv.values[p] = v
	}
	if !sv.s.job.rounds() {
		v.clocks[w.rank]++
		sv.thread.push(1, &task{left: c.update, done: func() { sv.apply(w, p, v) }})
		return
	}
	v.have++
	v.from = append(v.from, w)
	if v.have < sv.s.job.Workers {
		return
	}
	list := v.from
	v.have, v.from = 0, nil
	sv.thread.push(1, &task{left: c.update, done: func() {
		for _, to := range list {
			sv.answer(to, p)
		}
	}})
}

// apply follows a change of a value without rounds: it answers the pulls that the staleness allows.
func (sv *simServer) apply(w *simWorker, p int, v *simValue) {
	v.parked = append(v.parked, simParked{w, v.clocks[w.rank]})
	least := v.clocks[0]
	for _, c := range v.clocks {
		least = min(least, c)
	}
	kept := v.parked[:0]
	for _, x := range v.parked {
		// A worker that has ended its steps is never waited for.
		if sv.s.job.Store == "dist_ssp" && x.clock > least+sv.s.job.Staleness &&
			least < totalSteps {
			kept = append(kept, x)
			continue
		}
		sv.answer(x.w, p)
	}
	v.parked = kept
}

// answer sends a value to a worker.
func (sv *simServer) answer(w *simWorker, p int) {
	s := sv.s
	c := s.costOf(s.job.way(w.machine, sv.machine), &s.pieces[p])
	sv.thread.push(1, &task{left: c.answer, done: func() {
		s.carry(sv.machine, w.machine, s.pieces[p].value, func() { w.value(p) })
	}})
}
