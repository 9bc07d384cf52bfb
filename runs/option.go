package runs

// Option configures a run.
type Option func(*config)

type config struct {
	from       int64
	rank       int
	histograms int64
	trace      int64
	board      bool
	boardDir   string
	hyper      map[string]any
}

// From says at which step this process begins: points that former processes have recorded for later
// steps are hidden. Without it, and at 0, the run begins anew. Fit and trainers know their step.
func From(step int64) Option { return func(c *config) { c.from = step } }

// Rank says which worker of a job this is. Each worker has a file of its own in the run's folder.
func Rank(rank int) Option { return func(c *config) { c.rank = rank } }

// Histograms lets Fit and trainers record histograms of all parameters and gradients at every n-th
// step. Such a step waits for its gradients and copies them. 0 records none, as without the option.
func Histograms(n int) Option { return func(c *config) { c.histograms = int64(max(n, 0)) } }

// Trace lets Fit and trainers record a trace of one step, with all operators. The default is step
// 10; 0 records none.
func Trace(step int) Option { return func(c *config) { c.trace = int64(max(step, 0)) } }

// TensorBoard also writes event files of TensorBoard into the run's folder: scalars, histograms,
// images and the graph.
func TensorBoard() Option { return func(c *config) { c.board = true } }

// TensorBoardIn is TensorBoard with another folder.
func TensorBoardIn(dir string) Option {
	return func(c *config) { c.board, c.boardDir = true, dir }
}

// Hyper records hyper-parameters, as Run.Hyper does.
func Hyper(values map[string]any) Option {
	return func(c *config) {
		if c.hyper == nil {
			c.hyper = map[string]any{}
		}
		for k, v := range values {
			c.hyper[k] = v
		}
	}
}
