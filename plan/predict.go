package plan

// Limits of a job.
const (
	LimitCompute    = "compute"    // the kernels of the workers
	LimitServer     = "server"     // the processor time of servers
	LimitNetwork    = "network"    // messages: the workers' processor time for them, and links
	LimitMemory     = "memory"     // a machine has not enough memory: the job cannot run
	LimitStragglers = "stragglers" // workers wait for the slowest one
)

// Prediction is the predicted behaviour of a job.
type Prediction struct {
	Job        Job
	Batch      int     // samples of a step of one worker
	Step       float64 // seconds from one step of a worker to the next
	Throughput float64 // samples per second of all workers
	Cores      float64 // used share of the cores of the busiest machine
	Memory     Memory
	Worker     Traffic   // of a worker in a step
	Servers    []Traffic // of the servers in a step of all workers
	Limit      string
	// Gains has the gain of throughput by each change: kernels twice as fast, servers twice as
	// fast, messages twice as fast, all steps of equal length. The largest one names the limit.
	Gains map[string]float64
}

// Predict predicts a job, all of whose workers do the work of n. states is the number of arrays
// that the optimizer keeps for each parameter, which count for the memory.
func Predict(n *Network, c *Compute, h *Host, j Job, states int) (*Prediction, error) {
	p, err := predict(n, c, h, j, states)
	if err != nil {
		return nil, err
	}
	p.limit(n, c, h)
	return p, nil
}

// predict is Predict without the limit, which costs further simulations.
func predict(n *Network, c *Compute, h *Host, j Job, states int) (*Prediction, error) {
	if err := j.Check(); err != nil {
		return nil, err
	}
	if err := c.check(n); err != nil {
		return nil, err
	}
	if j.Store == StoreRing {
		if err := h.ringError(); err != nil {
			return nil, err
		}
	}
	p := &Prediction{Job: j, Batch: n.Batch, Memory: MemoryOf(n, c, h, j, states)}
	p.Worker, p.Servers = TrafficOf(n, j)
	o := simulate(n, c, h, &j, real)
	p.Step, p.Throughput, p.Cores = o.step, o.throughput, o.cores
	return p, nil
}

// limit finds the change that helps most.
func (p *Prediction) limit(n *Network, c *Compute, h *Host) {
	p.Gains = map[string]float64{}
	for _, change := range []struct {
		name string
		effects
	}{
		{LimitCompute, effects{0.5, 1, 1, 1}}, {LimitServer, effects{1, 0.5, 1, 1}},
		{LimitNetwork, effects{1, 1, 0.5, 1}}, {LimitStragglers, effects{1, 1, 1, 0}},
	} {
		o := simulate(n, c, h, &p.Job, change.effects)
		p.Gains[change.name] = o.throughput/p.Throughput - 1
		if p.Limit == "" || p.Gains[change.name] > p.Gains[p.Limit] {
			p.Limit = change.name
		}
	}
	if !p.Fits() {
		p.Limit = LimitMemory
	}
}

// Fits reports whether the memory of the machines is enough.
func (p *Prediction) Fits() bool {
	limit := p.Job.Machines.Memory
	return limit == 0 || p.Memory.Machine <= limit
}
