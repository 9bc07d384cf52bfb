package plan

import "slices"

// Memory is the resident memory of the processes of a job, in bytes.
type Memory struct {
	Worker  int64   // of each worker
	Servers []int64 // by rank
	Machine int64   // of the machine that needs most
}

// MemoryOf predicts the memory of a job. The memory of a worker is the measured memory of a process
// that trains alone, with the arrays of this network in place of the arrays of that process, and
// with the memory of the store. The memory of a server is the measured one for the bytes of its
// keys. states is the number of arrays that the optimizer keeps for each parameter.
func MemoryOf(n *Network, c *Compute, h *Host, j Job, states int) Memory {
	var keys, learned int64
	for i := range n.Keys {
		keys += n.Keys[i].Bytes
		if !n.Keys[i].State {
			learned += n.Keys[i].Bytes
		}
	}
	points := h.Memory
	if j.Store == StoreRing {
		points = h.RingMemory
	}
	store, _ := points.of(j.Workers, float64(keys))
	m := Memory{Worker: c.Memory + n.Arrays.Total() - c.Arrays + int64(store)}
	if j.Store == StoreRing {
		m.Worker += int64(states) * learned
	}
	m.Servers = make([]int64, j.Servers)
	values, more := make([]int64, j.Servers), make([]int64, j.Servers)
	if j.Servers > 0 {
		for _, p := range j.pieces(n) {
			values[p.server] += p.value
			if !n.Keys[p.key].State {
				more[p.server] += int64(states) * p.value
			}
		}
	}
	for i := range m.Servers {
		_, server := points.of(j.Workers, float64(values[i]))
		m.Servers[i] = int64(server) + more[i]
	}
	machines := make([]int64, j.Machines.Count)
	for i := range j.Workers {
		machines[j.worker(i)] += m.Worker
	}
	for i, bytes := range m.Servers {
		machines[j.server(i)] += bytes
	}
	m.Machine = slices.Max(machines)
	return m
}

// Server returns the memory of the server that needs most, 0 without servers.
func (m *Memory) Server() (most int64) {
	for _, bytes := range m.Servers {
		most = max(most, bytes)
	}
	return most
}
