package conformance

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"gomx/checkpoint"
	"gomx/dtype"
	"gomx/gluon"
	"gomx/gluon/zoo"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// zooFolder is the folder of the networks of gluon.model_zoo.vision.
const zooFolder = "gluon/zoo/"

// slowParams is the number of parameters from which a network is slow.
const slowParams = 10 << 20

// zooCase is a network of the zoo: its parameters, the symbol of its export, and its scores.
type zooCase struct {
	ID, Model     string
	Kwargs        map[string]json.RawMessage
	Prefix        string
	WeightGain    float64 `json:"weight_gain"`
	Symbol        string
	Params        string
	ParamArrays   int `json:"param_arrays"`
	ParamElements int `json:"param_elements"`
	Input         struct {
		Name  string
		Shape []int
		Fill  string
	}
	OutputShape []int `json:"output_shape"`
	Logits      []float64
	LogitsL2    float64 `json:"logits_l2"`
	LogitsSum   float64 `json:"logits_sum"`
	Argmax      []int
	InputEffect float64 `json:"input_effect"`
}

// zooParam is a parameter of a network of the zoo.
type zooParam struct {
	Name, Prefixed string
	Shape          []int
	Role           string // arg or aux
	GradReq        string `json:"grad_req"`
}

// zooCases reads the cases of the zoo.
func zooCases(g *Golden) ([]Case, error) {
	cases, err := casesOf[zooCase](g, zooFolder+"cases.json")
	if err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range cases {
		pixels := dtype.Shape(c.Input.Shape).Size()
		list = append(list, Case{ID: "zoo/" + c.ID, Run: c.run,
			Weight: c.ParamElements + 100*pixels, Slow: c.ParamElements > slowParams})
	}
	return list, nil
}

// options are the options that stand for the keyword arguments of MXNet's function.
func (c *zooCase) options() ([]zoo.Option, error) {
	a := &blockArgs{args: c.Kwargs, read: map[string]bool{}}
	var opts []zoo.Option
	if n := arg(a, "classes", 0); n != 0 {
		opts = append(opts, zoo.Classes(n))
	}
	if arg(a, "thumbnail", false) {
		opts = append(opts, zoo.Thumbnail())
	}
	if arg(a, "batch_norm", false) {
		opts = append(opts, zoo.BatchNorm())
	}
	if p := arg(a, "dropout", 0.0); p != 0 {
		opts = append(opts, zoo.Dropout(p))
	}
	if n := arg(a, "bn_size", 0); n != 0 {
		opts = append(opts, zoo.Bottleneck(n))
	}
	if s := arg(a, "prefix", ""); s != "" {
		opts = append(opts, zoo.Prefix(s))
	}
	if arg(a, "pretrained", false) {
		return nil, missing("pretrained parameters")
	}
	return opts, a.left(c.Model)
}

func (c *zooCase) run(env Env) error {
	opts, err := c.options()
	if err != nil {
		return err
	}
	net, err := zoo.Model(c.Model, opts...)
	if err != nil {
		return err
	}
	x, err := Fill(c.Input.Fill[len("unit:"):], c.Input.Shape).upload(env.Device)
	if err != nil {
		return err
	}
	params, err := c.params(env.Golden)
	if err != nil {
		return err
	}
	if err := c.setParams(env, net, params); err != nil {
		return err
	}
	net.Hybridize()
	if err := c.compareScores(net.Forward(x)); err != nil {
		return err
	}
	if err := c.compareExport(env, net, params); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// params reads the list of parameters.
func (c *zooCase) params(g *Golden) (list []zooParam, err error) {
	text, err := unzip(g, zooFolder+c.Params)
	if err != nil {
		return nil, err
	}
	if err := decodeStrictly(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Params, err)
	}
	elements := 0
	for _, p := range list {
		elements += dtype.Shape(p.Shape).Size()
	}
	if len(list) != c.ParamArrays || elements != c.ParamElements {
		return nil, fmt.Errorf("%s: %d arrays of %d elements, want %d of %d", c.Params, len(list),
			elements, c.ParamArrays, c.ParamElements)
	}
	return list, nil
}

// setParams compares the names of the parameters with the case and gives them their values, which
// have the shapes of the case.
func (c *zooCase) setParams(env Env, net *gluon.Net, list []zooParam) error {
	params, global := net.Params(), net.GlobalNames("")
	names := params.Names()
	if err := net.Init(nil, gluon.On(env.Device)); err != nil {
		return err
	}
	if len(names) != len(list) {
		return fmt.Errorf("%d parameters %v, want %d", len(names), names, len(list))
	}
	for i, want := range list {
		p := params.Get(want.Name)
		switch {
		case names[i] != want.Name:
			return fmt.Errorf("parameter %d is %s, want %s", i, names[i], want.Name)
		case global[want.Name] != want.Prefixed:
			return fmt.Errorf("parameter %s has the global name %s, want %s", want.Name,
				global[want.Name], want.Prefixed)
		case (p.GradReq == nd.GradNull) != (want.GradReq == "null"):
			return fmt.Errorf("parameter %s has request %v, want %s", want.Name, p.GradReq,
				want.GradReq)
		case p.State != (want.Role == "aux"):
			return fmt.Errorf("parameter %s is a state: %v, want %s", want.Name, p.State, want.Role)
		}
		values, err := c.value(want).upload(env.Device)
		if err == nil {
			err = p.Set(values)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// value computes a parameter.
func (c *zooCase) value(p zooParam) *Array {
	if len(p.Shape) < 2 || !strings.HasSuffix(p.Name, "weight") {
		return Fill(p.Name, p.Shape)
	}
	fan := dtype.Shape(p.Shape[1:]).Size()
	scale, s := c.WeightGain*math.Sqrt(3/float64(fan)), newStream(p.Name)
	a := NewArray(dtype.Float32, p.Shape)
	list := Elements[float32](a)
	for i := range list {
		list[i] = float32(scale * s.next())
	}
	return a
}

// compareScores compares the output.
func (c *zooCase) compareScores(y *nd.Array) error {
	if !y.Shape().Equal(c.OutputShape) {
		return fmt.Errorf("output of shape %v, want %v", y.Shape(), c.OutputShape)
	}
	got, err := y.Float64s()
	if err != nil {
		return err
	}
	largest, squares, sum := 0.0, 0.0, 0.0
	for _, v := range got {
		largest, squares, sum = max(largest, math.Abs(v)), squares+v*v, sum+v
	}
	tol := Tolerance{Abs: 1e-4 * largest}
	for i, want := range c.Logits {
		if err := near(fmt.Sprintf("score %d", i), got[i], want, tol); err != nil {
			return err
		}
	}
	root := math.Sqrt(float64(len(got)))
	if err := near("length of the scores", math.Sqrt(squares), c.LogitsL2,
		Tolerance{Abs: tol.Abs * root}); err != nil {
		return err
	}
	if err := near("sum of the scores", sum, c.LogitsSum,
		Tolerance{Abs: tol.Abs * root}); err != nil {
		return err
	}
	row := len(got) / len(c.Argmax)
	for i, want := range c.Argmax {
		scores := got[i*row : (i+1)*row]
		if k := slices.Index(scores, slices.Max(scores)); k != want {
			return fmt.Errorf("row %d has its largest score at %d, want %d", i, k, want)
		}
	}
	return nil
}

// compareExport exports the network under MXNet's names and compares symbol and names of
// parameters with MXNet's files.
func (c *zooCase) compareExport(env Env, net *gluon.Net, params []zooParam) error {
	text, err := unzip(env.Golden, zooFolder+c.Symbol)
	if err != nil {
		return err
	}
	want, err := sym.Load(text)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "zoo")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	prefix := filepath.Join(dir, "net")
	if err := net.Export(prefix, 0, gluon.GlobalNames("")); err != nil {
		return err
	}
	got, err := checkpoint.Load(prefix, 0)
	if err != nil {
		return err
	}
	for _, p := range params {
		list := got.Args
		if p.Role == "aux" {
			list = got.Aux
		}
		if a := list[p.Prefixed]; a == nil || !a.Shape().Equal(p.Shape) {
			return fmt.Errorf("the file has no %s %s of shape %v", p.Role, p.Prefixed, p.Shape)
		}
	}
	if n := len(got.Args) + len(got.Aux); n != len(params) {
		return fmt.Errorf("the file has %d arrays, want %d", n, len(params))
	}
	if err := c.compareShapes(got.Symbol, want); err != nil {
		return err
	}
	return compareNodes(got.Symbol.Nodes(), want.Nodes())
}

// compareShapes compares arguments and auxiliary states and their shapes.
func (c *zooCase) compareShapes(got, want *sym.Symbol) error {
	if a, b := got.Arguments(), want.Arguments(); !slices.Equal(a, b) {
		return fmt.Errorf("arguments %v, want %v", a, b)
	}
	if a, b := got.AuxStates(), want.AuxStates(); !slices.Equal(a, b) {
		return fmt.Errorf("auxiliary states %v, want %v", a, b)
	}
	if a, b := got.Outputs(), want.Outputs(); !slices.Equal(a, b) {
		return fmt.Errorf("outputs %v, want %v", a, b)
	}
	input := map[string]dtype.Shape{c.Input.Name: c.Input.Shape}
	args, outs, aux, err := got.InferShape(input)
	if err != nil {
		return err
	}
	wantArgs, wantOuts, wantAux, err := want.InferShape(input)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(args, wantArgs) || !reflect.DeepEqual(outs, wantOuts) ||
		!reflect.DeepEqual(aux, wantAux) {
		return fmt.Errorf("shapes %v %v %v, want %v %v %v", args, outs, aux, wantArgs, wantOuts,
			wantAux)
	}
	return nil
}

// compareNodes compares the nodes of two symbols: operators, names, parameters and inputs.
func compareNodes(got, want []*op.Node) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d nodes, want %d", len(got), len(want))
	}
	gotAt, wantAt := places(got), places(want)
	for i, w := range want {
		g := got[i]
		switch {
		case g.Name != w.Name:
			return fmt.Errorf("node %d is %s, want %s", i, g.Name, w.Name)
		case g.Op != w.Op:
			return fmt.Errorf("node %s is of operator %v, want %v", g.Name, g.Op.Name, w.Op.Name)
		case !reflect.DeepEqual(g.Params, w.Params):
			return fmt.Errorf("node %s has parameters %+v, want %+v", g.Name, g.Params, w.Params)
		case len(g.In) != len(w.In):
			return fmt.Errorf("node %s has %d inputs, want %d", g.Name, len(g.In), len(w.In))
		}
		for k := range w.In {
			if gotAt[g.In[k].Node] != wantAt[w.In[k].Node] || g.In[k].Index != w.In[k].Index {
				return fmt.Errorf("input %d of node %s is %s, want %s", k, g.Name,
					g.In[k].Node.Name, w.In[k].Node.Name)
			}
		}
	}
	return nil
}

// places numbers nodes.
func places(list []*op.Node) map[*op.Node]int {
	at := map[*op.Node]int{}
	for i, n := range list {
		at[n] = i
	}
	return at
}

// unzip reads a compressed file of the golden folder.
func unzip(g *Golden, name string) ([]byte, error) {
	f, err := os.Open(g.Path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return io.ReadAll(r)
}
