package ssh

import (
	"fmt"

	"gomx/kvstore/wire"
)

// placement says on which host each process runs: workers fill the slots of the hosts in the order
// of the file, servers take turns over all hosts, and the scheduler is on the first host.
type placement struct {
	hosts   []Host
	workers []int // index of the host of each worker
	servers []int // index of the host of each server
}

// place distributes the processes of a job.
func place(hosts []Host, workers, servers int) (*placement, error) {
	p := &placement{hosts: hosts}
	slots := 0
	for i, h := range hosts {
		slots += h.Slots
		for range h.Slots {
			if len(p.workers) < workers {
				p.workers = append(p.workers, i)
			}
		}
	}
	if len(p.workers) < workers {
		return nil, fmt.Errorf("ssh: %d slots on %d hosts, want one for each of %d workers", slots,
			len(hosts), workers)
	}
	for i := range servers {
		p.servers = append(p.servers, i%len(hosts))
	}
	return p, nil
}

// host returns the index of the host of a process.
func (p *placement) host(n wire.Node) int {
	switch n.Role {
	case wire.Server:
		return p.servers[n.Rank]
	case wire.Worker:
		return p.workers[n.Rank]
	}
	return 0
}

// share returns the number of workers on a host.
func (p *placement) share(host int) (n int) {
	for _, h := range p.workers {
		if h == host {
			n++
		}
	}
	return n
}
