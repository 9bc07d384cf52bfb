package rnn

import sym "gomx/symbol"

// Params are the variables of the parameters of cells, by their names. Cells that have the same
// Params share their parameters:
//
//	shared := rnn.NewParams("shared_")
//	a := &rnn.LSTMCell{Hidden: 8, Prefix: "a_", Params: shared}
//	b := &rnn.LSTMCell{Hidden: 8, Prefix: "b_", Params: shared} // shared_i2h_weight and so on
//
// Params belong to one goroutine.
//
// MXNet: rnn.RNNParams.
type Params struct {
	prefix string
	vars   map[string]*sym.Symbol // by the names without the prefix
}

// NewParams returns Params without variables. Their names will begin with the prefix.
func NewParams(prefix string) *Params {
	return &Params{prefix: prefix, vars: map[string]*sym.Symbol{}}
}

// Get returns the variable of a parameter, which the first call makes with the options.
func (p *Params) Get(name string, opts ...sym.Option) *sym.Symbol {
	if p.vars[name] == nil {
		p.vars[name] = sym.Var(p.prefix+name, opts...)
	}
	return p.vars[name]
}

// choose returns the Params that a cell has been given, or its own.
func (b *basis) choose(given *Params, prefix string) *Params {
	if given != nil {
		return given
	}
	if b.own == nil {
		b.own = NewParams(prefix)
	}
	return b.own
}
