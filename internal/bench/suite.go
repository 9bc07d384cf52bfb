package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"gomx/device"
)

// Workload is one measured line.
type Workload struct {
	Name string // name, as the peers' scripts print it
	Unit string // "images/s", "us/op"; lower is better for units of time or memory
	Run  func(ctx context.Context) (float64, error)
	Line string // name in the output of the peers' scripts, if it differs from Name
	own  bool   // no peer has it: it compares two ways of gomx
	// peer is the one peer that has the workload, and script the peer's script; empty: the peers
	// and the script of the suite.
	peer, script string
}

// line returns the name that the peers' scripts print for the workload.
func (w *Workload) line() string {
	if w.Line != "" {
		return w.Line
	}
	return w.Name
}

// lowIsBetter reports whether a unit is a time or an amount of memory.
func lowIsBetter(unit string) bool {
	for _, t := range []string{"us/", "ms/", "ns/", "s/op", "s/GiB", "switches/"} {
		if strings.HasPrefix(unit, t) {
			return true
		}
	}
	return unit == "us" || unit == "ms" || unit == "ns" || unit == "MiB"
}

// Suite is a named list of workloads with the script that peers run for them.
type Suite struct {
	Name      string
	Script    string // below peers/
	Workloads func() ([]Workload, error)

	args func(p Peer, line string) []string // arguments of the script
	// variants returns the environments in which a peer is measured.
	variants func(p Peer) []variant
	run      func(ctx context.Context, c *Config) error // replaces all of the above
	memories bool                                       // compare peak memory too
	// sessions makes one process of a peer measure many lines; see session.
	sessions bool
	// sampled measures a tenth of the workloads, unless the configuration wants all.
	sampled bool
	// only is the one peer of the script; empty: mxnet and torch.
	only string
	// floor is the ratio below which a line is measured once more, alone.
	floor float64
}

// Suites lists all suites.
func Suites() []Suite {
	return []Suite{
		{Name: "engine", Script: "engine.c", Workloads: scheduling, args: everything,
			variants: byWorkers, only: "mxnet"},
		{Name: "imperative", Script: "imperative.py", Workloads: imperative, args: peerAndLine,
			variants: byThreads},
		{Name: "gemm", Script: "imperative.py", Workloads: gemm, args: peerAndLine,
			variants: byThreads},
		{Name: "local", Script: "local.py", Workloads: local, args: onlyLine, variants: byThreads,
			memories: true},
		{Name: "convnets", Script: "convnets.py", Workloads: convnets, args: onlyLine,
			variants: byThreads, memories: true},
		{Name: "hybrid", Script: "hybrid.py", Workloads: hybrid, args: peerAndLine,
			variants: byThreads},
		{Name: "ops", Script: "ops.py", Workloads: operators, args: peerAndLine,
			variants: byThreads},
		{Name: "io", Script: "io.py", Workloads: inputs, args: folderAndLine,
			variants: oneOrTwoThreads, only: "mxnet"},
		{Name: "kv", Script: "kv.py", Workloads: kv, args: onlyLine, variants: byThreads},
		{Name: "oddconvs", Script: "oddconvs.py", Workloads: oddconvs, variants: oneOrTwoThreads,
			sessions: true, sampled: true,
			only: "mxnet", floor: 0.9},
		{Name: "sparse", Script: "sparse.py", Workloads: sparse, args: peerAndLine,
			variants: byThreads, floor: 0.9},
		{Name: "narrow-train", Script: "narrowtrain.py", Workloads: narrowTrain, args: peerAndLine,
			variants: byThreads, only: "torch"},
		{Name: "attention", run: runAttention},
		{Name: "narrow", run: runNarrow},
		{Name: "onnx", run: runONNX},
		{Name: "sentences", run: runSentences},
		{Name: "sparse-train", run: runSparseTrain},
		{Name: "platforms", run: runPlatforms},
		{Name: "staleness", run: runStaleness},
	}
}

// Config is the configuration of Run.
type Config struct {
	Suite  string
	Peers  []Peer
	Match  string // measure only workloads whose names contain it
	Rounds int    // number of alternations; 0: 3, or 10 against another build
	Seed   uint64 // seed of the choice of workloads, in sampled suites
	All    bool   // measure all workloads of sampled suites
	// Against is the path of another build of this program that takes the place of peers; empty:
	// none.
	Against string
	// Docs is the folder of the pages that the suites platforms and staleness update; empty: none.
	Docs string
	// Models is the folder of the Python packages whose models the suites onnx and sentences
	// measure.
	Models string
	// Device is the device of the suite convnets, and Precision its number format there: float32,
	// tf32, float16 or bfloat16. Streams and Replay are the module's options.
	Device    device.Device
	Precision string
	Streams   int
	Replay    bool
	Out       io.Writer
	Log       io.Writer // progress; nil: none
}

// result collects the best figures of every side for one workload.
type result struct {
	ours     float64
	best     float64
	bestPeer string
	by       map[string]float64 // best figure of each peer

	// memory and peerMemory are peaks in MiB, the latter of MXNet; 0: not compared.
	memory, peerMemory float64
}

// suiteOf returns the suite with a name.
func suiteOf(name string) (Suite, error) {
	i := slices.IndexFunc(Suites(), func(s Suite) bool { return s.Name == name })
	if i < 0 {
		return Suite{}, fmt.Errorf("bench: unknown suite %q, want one of %s", name,
			strings.Join(Names(), ", "))
	}
	return Suites()[i], nil
}

// Run measures a suite and prints one line per workload: name, figure of gomx, figure of the best
// peer, ratio, unit and name of that peer, separated by tabs. If memory is compared, a second line
// of the same form has the peak memory of the processes; see RunMemory.
func Run(ctx context.Context, c Config) error {
	suite, err := suiteOf(c.Suite)
	if err != nil {
		return err
	}
	if err := c.checkDevice(); err != nil {
		return err
	}
	if c.Device != device.CPU() {
		suite = onGPU(&c)
	}
	if c.Against != "" {
		return suite.against(ctx, &c)
	}
	if c.Rounds == 0 {
		c.Rounds = 3
	}
	if suite.run != nil {
		return suite.run(ctx, &c)
	}
	for _, p := range c.Peers {
		if known := []string{"mxnet", "torch"}; !slices.Contains(known, p.Name) ||
			suite.only != "" && p.Name != suite.only {
			return fmt.Errorf("bench: suite %s has no script for peer %s", c.Suite, p.Name)
		}
	}
	return suite.beside(ctx, &c)
}

// beside measures the suite in gomx and in the peers. Lines below the suite's floor are measured
// once more after all others; the second figures count.
func (s *Suite) beside(ctx context.Context, c *Config) error {
	list, notes, err := s.chosen(c)
	if err != nil {
		return err
	}
	ps, err := newPrograms()
	if err != nil {
		return err
	}
	defer ps.close()
	printHeader(c, notes...)
	var all means
	var low []Workload
	one := func(w *Workload, again bool) error {
		r, err := s.alternate(ctx, c, ps, w)
		if err != nil {
			return fmt.Errorf("bench: %s: %w", w.Name, err)
		}
		if got := ratio(w.Unit, r.ours, r.best); !again && r.best != 0 && got < s.floor {
			low = append(low, *w)
			printLow(c.Out, w.Name, got, s.floor)
			return nil
		}
		r.print(c.Out, w)
		all.add(w, r)
		return nil
	}
	for _, w := range list {
		if err := one(&w, false); err != nil {
			return err
		}
	}
	printRepeated(c.Out, len(low), s.floor)
	for _, w := range low {
		ps.endSessions()
		if err := one(&w, true); err != nil {
			return err
		}
	}
	all.print(c.Out, c.Suite)
	return nil
}

// printLow prints that a line is below a floor and is measured again later.
func printLow(out io.Writer, name string, got, floor float64) {
	fmt.Fprintf(out, "# %s: ratio %.3f is below %.2f, measured once more at the end, alone\n", name,
		got, floor)
}

// printRepeated prints that the following lines are measured for the second time.
func printRepeated(out io.Writer, n int, floor float64) {
	if n > 0 {
		fmt.Fprintf(out, "# %d lines were below %.2f; here they are once more, each measured "+
			"alone\n", n, floor)
	}
}

// alternate measures one workload in gomx and in the peers, in turn.
func (s *Suite) alternate(ctx context.Context, c *Config, ps *programs, w *Workload) (*result,
	error) {
	r := &result{by: map[string]float64{}}
	for round := range c.Rounds {
		v, err := w.Run(ctx)
		if err != nil {
			return nil, err
		}
		r.ours = better(w.Unit, r.ours, v)
		logf(c.Log, "%s round %d: gomx %.4g %s\n", w.Name, round+1, v, w.Unit)
		if w.own { // it alternates by itself
			break
		}
		for _, p := range c.Peers {
			if w.peer != "" && w.peer != p.Name {
				continue
			}
			m, err := s.measure(ctx, ps, p, w)
			if err != nil {
				return nil, err
			}
			logf(c.Log, "%s round %d: %s %.4g %s\n", w.Name, round+1, m.who, m.speed, w.Unit)
			r.by[p.Name] = better(w.Unit, r.by[p.Name], m.speed)
			if b := better(w.Unit, r.best, m.speed); b != r.best {
				r.best, r.bestPeer = b, m.who
			}
			if p.Name == "mxnet" {
				r.peerMemory = better(memoryUnit, r.peerMemory, m.memory)
			}
		}
	}
	if !s.memories || r.peerMemory == 0 {
		return r, nil
	}
	var err error
	r.memory, err = s.memory(ctx, w)
	logf(c.Log, "%s: gomx %.1f %s, mxnet %.1f %s\n", memoryLine(w.Name), r.memory, memoryUnit,
		r.peerMemory, memoryUnit)
	return r, err
}

// better returns the better of two figures; 0 means no figure.
func better(unit string, a, b float64) float64 {
	if a == 0 {
		return b
	}
	if b == 0 {
		return a
	}
	if lowIsBetter(unit) {
		return min(a, b)
	}
	return max(a, b)
}

func (r *result) print(out io.Writer, w *Workload) {
	if r.best == 0 {
		fmt.Fprintf(out, "%s\t%.4g\t-\t-\t%s\t-\n", w.Name, r.ours, w.Unit)
		return
	}
	fmt.Fprintf(out, "%s\t%.4g\t%.4g\t%.2f\t%s\t%s\n", w.Name, r.ours, r.best,
		ratio(w.Unit, r.ours, r.best), w.Unit, r.bestPeer)
	if r.memory > 0 {
		fmt.Fprintf(out, "%s\t%.1f\t%.1f\t%.2f\t%s\tmxnet\n", memoryLine(w.Name), r.memory,
			r.peerMemory, ratio(memoryUnit, r.memory, r.peerMemory), memoryUnit)
	}
}

// Names returns the names of the suites.
func Names() []string {
	var names []string
	for _, s := range Suites() {
		names = append(names, s.Name)
	}
	return names
}

func logf(w io.Writer, format string, args ...any) {
	if w != nil {
		fmt.Fprintf(w, format, args...)
	}
}
