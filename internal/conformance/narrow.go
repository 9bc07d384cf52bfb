package conformance

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"gomx/dtype"
	"gomx/op"
	sym "gomx/symbol"

	nd "gomx/ndarray"
)

// bf16Step bounds the relative error of one rounding to bfloat16, which has 8 bits of mantissa.
const bf16Step = 1.0 / (1 << 8)

// narrowCase is a case of an operator whose float32 operands become bfloat16. The same graph in
// float32, with the rounded numbers, gives the wanted results: a kernel for bfloat16 computes in
// float32 inside, so that each operator adds the rounding of its results and nothing else.
type narrowCase struct {
	*opCase
	types []dtype.Type // of inputs and auxiliary states
}

// NarrowCases returns the cases of ops/ and rest/ in bfloat16: with all real operands in bfloat16,
// and with parameters that stay float32 where the operator takes these. Refused gives the reason of
// each operator that takes neither.
func NarrowCases(g *Golden) (cases []Case, served map[string]bool, refused map[string]string,
	err error) {
	served, refused = map[string]bool{}, map[string]string{}
	for _, folder := range []string{"ops", "rest"} {
		list, err := casesOf[opCase](g, folder+"/cases.json")
		if err != nil {
			return nil, nil, nil, err
		}
		for _, c := range list {
			c.File = folder + "/" + c.File
			all, why, err := narrowed(c)
			if err != nil {
				return nil, nil, nil, fmt.Errorf("conformance: %s: %w", c.ID, err)
			}
			if len(all) == 0 {
				refused[c.Op] = why
			}
			for i, n := range all {
				id := c.ID + [...]string{"", "/wide-parameters"}[i]
				cases = append(cases, Case{ID: id, Run: n.run})
				served[c.Op] = true
			}
		}
	}
	maps.DeleteFunc(refused, func(name, _ string) bool { return served[name] })
	return cases, served, refused, nil
}

// narrowed chooses the types of a case in bfloat16, or says why there are none.
func narrowed(c *opCase) (list []*narrowCase, why string, err error) {
	o, err := op.Find(c.Op)
	if err != nil {
		return nil, "", err
	}
	refs := slices.Concat(c.Inputs, c.Aux)
	params, err := o.ParseParams(c.Attrs)
	if err != nil {
		return nil, "", err
	}
	params = o.WithCount(params, len(refs))
	if len(refs) == 0 {
		if t, err := dtype.Parse(c.Attrs["dtype"]); err == nil && !t.IsFloat() {
			return nil, "MXNet's cases make " + t.String(), nil
		}
		return []*narrowCase{{opCase: c}}, "", nil
	}
	given := make([]dtype.Type, len(refs))
	for i, r := range refs {
		if given[i], err = dtype.Parse(r.DType); err != nil {
			return nil, "", err
		}
	}
	why = "no operand of MXNet's cases is float32"
	for _, all := range []bool{true, false} {
		types, err := narrowTypes(o, params, given, all)
		switch {
		case err != nil:
			why = err.Error()
		case slices.Contains(types, dtype.BFloat16) &&
			!(len(list) > 0 && slices.Equal(types, list[0].types)):
			list = append(list, &narrowCase{c, types})
		}
	}
	return list, why, nil
}

// narrowTypes makes float32 operands bfloat16: all of them, or those alone that are no parameters.
func narrowTypes(o *op.Op, params any, given []dtype.Type, all bool) ([]dtype.Type, error) {
	types, out := slices.Clone(given), make([]dtype.Type, len(o.Outputs(params)))
	args := o.Inputs(params)
	for i, t := range given {
		if t == dtype.Float32 && (all || args[i].Role != op.Param && args[i].Role != op.Aux) {
			types[i] = dtype.BFloat16
		}
	}
	want := slices.Clone(types)
	for i := range out {
		out[i] = dtype.Unknown
	}
	if err := o.InferType(params, types, out); err != nil {
		return nil, err
	}
	if !slices.Equal(types, want) {
		return nil, fmt.Errorf("types %v become %v", want, types)
	}
	return types, nil
}

// run compares the graph in bfloat16 with the graph in float32.
func (c *narrowCase) run(env Env) error {
	want, _, err := c.results(env, dtype.Float32)
	if err != nil {
		return fmt.Errorf("in float32: %w", err)
	}
	got, operators, err := c.results(env, dtype.BFloat16)
	if err != nil {
		return err
	}
	for i, w := range want {
		if err := c.near(w, got[i].values, operators); err != nil {
			return err
		}
	}
	return nil
}

// result is a named array that a run has computed.
type result struct {
	what   string
	values *Array
	grad   bool
}

// stored are operators whose gradients read numbers that the forward operator has rounded, where
// all operands are bfloat16, with factors of the bound: outputs and gates of eight steps and fewer,
// or a mean and a deviation, by which differences of neighbours are divided.
var stored = map[string]float64{"RNN": 8, "LayerNorm": 16}

// near compares a result in bfloat16 with the one in float32. A gradient passes through several
// operators, each of which rounds numbers that may be as large as the largest one.
func (c *narrowCase) near(want result, got *Array, operators int) error {
	w := want.values
	if got.DType != w.DType && got.DType != dtype.BFloat16 {
		return fmt.Errorf("%s: dtype %v, in float32 %v", want.what, got.DType, w.DType)
	}
	tol := opTolerance(c.Family, "", w.DType)
	if got.DType == dtype.BFloat16 {
		tol.Rel += bf16Step
		if want.grad {
			factor := float64(operators)
			if !slices.Contains(c.types, dtype.Float32) {
				factor *= max(1, stored[c.Op])
			}
			tol.Abs += factor * bf16Step * largest(w)
		}
		got = got.as(w.DType)
	}
	return compare(want.what, got, w, tol)
}

// largest returns the greatest finite magnitude in a.
func largest(a *Array) (most float64) {
	for _, v := range a.Float64s() {
		if v = math.Abs(v); v <= math.MaxFloat64 {
			most = max(most, v)
		}
	}
	return most
}

// results runs the case with real operands of a type and returns the results and the number of
// operators that have run.
func (c *narrowCase) results(env Env, t dtype.Type) (list []result, operators int, err error) {
	s, err := c.typed(t).symbol()
	if err != nil {
		return nil, 0, err
	}
	f, err := c.feed(env.Golden)
	if err != nil {
		return nil, 0, err
	}
	for i, r := range slices.Concat(c.Inputs, c.Aux) {
		if c.types[i] != dtype.BFloat16 {
			continue
		}
		for _, v := range []values{f.args, f.aux, f.grads} {
			if v[r.Name] != nil {
				v[r.Name] = v[r.Name].as(dtype.BFloat16).as(t)
			}
		}
	}
	ex, err := f.bind(s, env)
	if err != nil {
		return nil, 0, err
	}
	defer f.close(ex)
	if err := ex.Forward(c.IsTrain); err != nil {
		return nil, 0, err
	}
	if err := c.back(ex, env, t); err != nil {
		return nil, 0, err
	}
	e, err := ex.Explain(c.IsTrain)
	if err != nil {
		return nil, 0, err
	}
	list, err = c.collect(ex)
	return list, e.Operators, err
}

// typed returns the case with parameters for real operands of a type: arrays that are made have it,
// and a number that stands for an operand is rounded as the operand would be.
func (c *narrowCase) typed(t dtype.Type) *opCase {
	d := *c.opCase
	d.Attrs = maps.Clone(c.Attrs)
	if len(c.types) == 0 {
		d.Attrs["dtype"] = t.String()
	}
	if v, err := strconv.ParseFloat(d.Attrs["scalar"], 64); err == nil {
		d.Attrs["scalar"] = fmt.Sprint(dtype.BF16Of(float32(v)).Float32())
	}
	return &d
}

// back computes the gradients with rounded gradients of the outputs.
func (c *narrowCase) back(ex *sym.Executor, env Env, t dtype.Type) error {
	if len(c.Grads) == 0 {
		return nil
	}
	arrays, err := env.Golden.Arrays(c.File, c.HeadGrads)
	if err != nil {
		return err
	}
	heads := make([]*nd.Array, len(arrays))
	for i, a := range arrays {
		if a.DType == dtype.Float32 {
			a = a.as(dtype.BFloat16).as(ex.Outputs()[i].DType())
		}
		if heads[i], err = a.upload(env.Device); err != nil {
			return err
		}
	}
	return ex.Backward(heads...)
}

// collect downloads the results of a case.
func (c *narrowCase) collect(ex *sym.Executor) ([]result, error) {
	var list []result
	add := func(what string, x *nd.Array, grad bool) error {
		if x == nil {
			return fmt.Errorf("%s: the executor has none", what)
		}
		a, err := download(x)
		list = append(list, result{what, a, grad})
		return err
	}
	for i, name := range c.OutputNames {
		if slices.Contains(c.UndefinedOutputs, i) {
			continue
		}
		if err := add("output "+name, ex.Outputs()[i], false); err != nil {
			return nil, err
		}
	}
	for _, r := range c.Grads {
		if err := add("gradient of "+r.Name, ex.Grads[r.Name], true); err != nil {
			return nil, err
		}
	}
	for _, r := range c.AuxAfter {
		if err := add("auxiliary state "+r.Name, ex.Aux[r.Name], false); err != nil {
			return nil, err
		}
	}
	return list, nil
}
