package plan

// Widen returns the times of the segments of a network for more threads than a machine has, from
// the times of one thread and of all its cores: the part of a segment's time that cores do not
// shorten stays, the rest is divided by the threads. The three networks differ in threads only.
func Widen(n, narrow *Network, one, all *Compute, cores, threads int) *Compute {
	c := &Compute{Host: one.Host, Jitter: one.Jitter, Memory: all.Memory, Arrays: all.Arrays,
		Speeds: one.Speeds}
	byName := map[string][2]float64{}
	for i := range narrow.Segments {
		if i < len(one.Seconds) && i < len(all.Seconds) {
			byName[narrow.Segments[i].Name] = [2]float64{one.Seconds[i], all.Seconds[i]}
		}
	}
	for i := range n.Segments {
		t := byName[n.Segments[i].Name]
		c.Seconds = append(c.Seconds, amdahl(t[0], t[1], cores,
			min(threads, n.Segments[i].Threads)))
	}
	return c
}

// amdahl returns the time of a kernel on some threads, from its times on one and on some cores, by
// Amdahl's law.
func amdahl(one, all float64, cores, threads int) float64 {
	if cores < 2 {
		return one
	}
	each := max(0, (one-all)/(1-1/float64(cores)))
	serial := max(0, one-each)
	return serial + each/float64(threads)
}
