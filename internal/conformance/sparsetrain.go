package conformance

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"gomx/dtype"
	"gomx/op"
	"gomx/optimizer"
	sym "gomx/symbol"

	nd "gomx/ndarray"
)

// sparseTrainCase is a network with sparse arguments that is trained by simple_bind and an updater.
type sparseTrainCase struct {
	ID, Symbol, File string
	Model            string // informative
	Optimizer        string
	OptimizerParams  map[string]any     `json:"optimizer_params"`
	WDMult           map[string]float64 `json:"wd_mult"`
	Batch, Epochs    int
	InputShapes      map[string][]int `json:"input_shapes"`
	Stypes           map[string]string
	GradStypes       map[string]string    `json:"grad_stypes"`
	Init             []storedRef          // parameters, in the order of the updater's numbers
	FinalArgs        []storedRef          `json:"final_args"`
	Loss             []float64            // before the update of each step
	ParamL2          map[string][]float64 `json:"param_l2"`
	Libsvm           string               // file of data and labels
	Inputs           map[string]Ref       // of all batches, in the place of a file
}

func sparseTrainCases(g *Golden) ([]Case, error) {
	cases, err := casesOf[sparseTrainCase](g, "sparse/train.json")
	if err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range cases {
		c.File = "sparse/" + c.File
		list = append(list, Case{ID: "train/" + c.ID, Run: c.run})
	}
	return list, nil
}

// sparseTrainTolerance is the tolerance of losses and parameters.
var sparseTrainTolerance = Tolerance{1e-4, 1e-3}

func (c *sparseTrainCase) run(env Env) error {
	ex, err := c.bind(env)
	if err != nil {
		return err
	}
	defer ex.Close()
	u, err := c.updater()
	if err != nil {
		return err
	}
	batches, err := c.batches(env)
	if err != nil {
		return err
	}
	if want := c.Epochs * len(batches); want != len(c.Loss) {
		return fmt.Errorf("%d losses for %d steps", len(c.Loss), want)
	}
	for step := range c.Loss {
		if err := c.step(ex, u, batches[step%len(batches)], step); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	for _, r := range c.FinalArgs {
		err := compareStoredWithin(env.Golden, r.Name, ex.Args[r.Name], c.File, r,
			func(*Array) Tolerance { return sparseTrainTolerance })
		if err != nil {
			return err
		}
	}
	return nil
}

// bind binds the network with the initial parameters, and compares the storage types.
func (c *sparseTrainCase) bind(env Env) (*sym.Executor, error) {
	text, err := os.ReadFile(env.Golden.Path("sparse/" + c.Symbol))
	if err != nil {
		return nil, err
	}
	s, err := sym.Load(text)
	if err != nil {
		return nil, err
	}
	b := sym.BindConfig{Shapes: map[string]dtype.Shape{}, Stored: map[string]op.Storage{},
		GradReq: map[string]op.Req{}}
	for name, shape := range c.InputShapes {
		b.Shapes[name], b.GradReq[name] = shape, op.ReqNull
	}
	for _, r := range c.Init {
		b.Shapes[r.Name] = r.Shape
	}
	for name, text := range c.Stypes {
		if b.Stored[name], err = op.ParseStorage(text); err != nil {
			return nil, err
		}
	}
	ex, err := s.SimpleBind(b)
	if err != nil {
		return nil, err
	}
	for name, want := range c.GradStypes {
		if got := ex.Grads[name].Storage().String(); got != want {
			return nil, fmt.Errorf("the gradient of %s is %s, want %s", name, got, want)
		}
	}
	for _, r := range c.Init {
		a, err := env.stored(c.File, r)
		if err != nil {
			return nil, err
		}
		if got, want := ex.Args[r.Name].Storage(), a.Storage(); got != want {
			return nil, fmt.Errorf("%s is %v, want %v", r.Name, got, want)
		}
		a.CopyInto(ex.Args[r.Name])
	}
	return ex, nil
}

// updater makes the updater of the parameters.
func (c *sparseTrainCase) updater() (*optimizer.Updater, error) {
	kwargs, err := optimizerKwargs(c.OptimizerParams)
	if err != nil {
		return nil, err
	}
	kwargs["wd_mult"] = c.WDMult
	o, err := optimizer.New(c.Optimizer, kwargs)
	if err != nil {
		return nil, err
	}
	u, err := optimizer.NewUpdater(o, nil)
	if err != nil {
		return nil, err
	}
	for i, r := range c.Init {
		u.SetName(i, r.Name)
	}
	return u, nil
}

// step trains on one batch and compares loss and lengths of the parameters.
func (c *sparseTrainCase) step(ex *sym.Executor, u *optimizer.Updater, batch map[string]*nd.Array,
	step int) error {
	var label *nd.Array
	for name, a := range batch {
		if err := ex.Feed(name, a); err != nil {
			return err
		}
		if strings.HasSuffix(name, "label") || name == "score" {
			label = a
		}
	}
	if err := ex.Forward(true); err != nil {
		return err
	}
	if err := ex.Backward(); err != nil {
		return err
	}
	loss, err := lossOf(sym.Of(ex).Entries()[0].Node.Op.Name, ex.Outputs()[0], label)
	if err != nil {
		return err
	}
	if err := near("loss", loss, c.Loss[step], sparseTrainTolerance); err != nil {
		return err
	}
	for i, r := range c.Init {
		if err := u.Update(i, ex.Args[r.Name], ex.Grads[r.Name]); err != nil {
			return err
		}
	}
	for _, r := range c.Init {
		v, err := ex.Args[r.Name].Float64s()
		if err != nil {
			return err
		}
		sum := 0.0
		for _, x := range v {
			sum += x * x
		}
		if err := near("length of "+r.Name, math.Sqrt(sum), c.ParamL2[r.Name][step],
			sparseTrainTolerance); err != nil {
			return err
		}
	}
	return nil
}

// batches returns the batches of an epoch, each by the names of the inputs.
func (c *sparseTrainCase) batches(env Env) ([]map[string]*nd.Array, error) {
	if c.Libsvm != "" {
		return c.libsvm(env)
	}
	var list []map[string]*nd.Array
	for name, r := range c.Inputs {
		a, err := env.Golden.Array(c.File, r)
		if err != nil {
			return nil, err
		}
		whole, err := a.upload(env.Device)
		if err != nil {
			return nil, err
		}
		for i := range a.Shape[0] / c.Batch {
			if i == len(list) {
				list = append(list, map[string]*nd.Array{})
			}
			list[i][name] = whole.Slice(i*c.Batch, (i+1)*c.Batch)
		}
	}
	return list, nil
}

// libsvm reads the batches of a file: a label, then column:value for each element.
func (c *sparseTrainCase) libsvm(env Env) ([]map[string]*nd.Array, error) {
	f, err := os.Open(env.Golden.Path("sparse/" + c.Libsvm))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []map[string]*nd.Array
	var labels, values []float32
	var columns []int64
	starts := []int64{0}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		for i, field := range strings.Fields(lines.Text()) {
			column, value, found := strings.Cut(field, ":")
			if !found {
				value = column
			}
			v, err := strconv.ParseFloat(value, 32)
			if err != nil {
				return nil, err
			}
			if i == 0 {
				labels = append(labels, float32(v))
				continue
			}
			k, err := strconv.ParseInt(column, 10, 64)
			if err != nil {
				return nil, err
			}
			columns, values = append(columns, k), append(values, float32(v))
		}
		if starts = append(starts, int64(len(values))); len(labels) < c.Batch {
			continue
		}
		list = append(list, map[string]*nd.Array{
			"data": nd.CSRFromSlices(values, columns, starts, c.InputShapes["data"]),
			"softmax_label": nd.FromSlice(slices.Clone(labels),
				c.InputShapes["softmax_label"]...)})
		labels, values, columns, starts = labels[:0], values[:0], columns[:0], starts[:1]
	}
	return list, nil
}
