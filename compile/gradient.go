package compile

import (
	"fmt"

	"gomx/graph"
	"gomx/op"
	"gomx/op/prim"
)

// differentiate adds the gradients that are asked for, of the last layers first, so that they are
// ready first: a store can send them while the first layers are still being differentiated.
//
// Each output gets a variable for the gradient that flows into it; the ones that no operator reads,
// as below losses, get no slot. Where a gradient is added to its array and nothing flows into it,
// the array stays as it is, so no gradient is computed.
func differentiate(u *Unit) error {
	if len(u.opt.Grads) == 0 {
		return nil
	}
	var wrt []op.Entry
	for _, v := range u.src.Args {
		if u.opt.wants(v.Name) {
			wrt = append(wrt, v.Entry(0))
		}
	}
	heads := make([]op.Entry, len(u.Outs))
	for i := range heads {
		heads[i] = op.Var(fmt.Sprintf("_head_grad_%d", i)).Entry(0)
		u.Facts.Set(heads[i], u.Facts.Shapes[u.Outs[i]], u.Facts.Types[u.Outs[i]])
	}
	entries, err := graph.Gradient(u.Outs, heads, wrt)
	if err != nil {
		return err
	}
	claimed := map[op.Entry]bool{}
	for _, e := range u.Outs {
		claimed[e] = true
	}
	for i := len(wrt) - 1; i >= 0; i-- {
		e := entries[i]
		if !e.Valid() && u.opt.Grads[wrt[i].Node.Name] == op.ReqAdd {
			continue
		}
		s := u.src.Stored[wrt[i].Node.Name]
		if !e.Valid() {
			e = zeroGradient(wrt[i], s)
		}
		if s != op.Dense {
			e = storedGradient(wrt[i], e, s, claimed)
		}
		u.Grads = append(u.Grads, u.gradient(wrt[i], e, claimed))
	}
	u.Facts.Forward = len(u.Outs)
	u.addHeads(heads)
	return u.Facts.Infer(u.all())
}

// zeroGradient makes the gradient of a variable that the outputs do not depend on, or only through
// operators that let no gradient pass. The array has to be overwritten: it may hold anything.
func zeroGradient(v op.Entry, s op.Storage) op.Entry {
	zeros := prim.NoGradient.Op
	if s != op.Dense { // storedGradient may read them
		zeros = prim.ZerosLike.Op
	}
	n, err := op.NewNode(zeros, v.Node.Name+"_no_grad", nil, v)
	if err != nil {
		panic(err)
	}
	return n.Entry(0)
}

// storedGradient returns the gradient of variable v in a storage type: e itself, if its operator can
// give the type to e, or a converted copy. Nothing else may read the entry, because only entries in
// slots are sparse.
func storedGradient(v, e op.Entry, s op.Storage, claimed map[op.Entry]bool) op.Entry {
	if n := e.Node; !n.IsVar() && !claimed[e] && n.NumOutputs() == 1 {
		if out, ok := n.Op.OutStorage(n.Params, make([]op.Storage, len(n.In))); ok && out[0] == s {
			return e
		}
	}
	op.Notice("the gradient of %s is computed densely and made %v: its operator gives no other",
		v.Node.Name, s)
	n, err := op.NewNode(prim.CastStorage.Op, v.Node.Name+"_grad_stored",
		prim.CastStorageParams{SType: s.String()}, e)
	if err != nil {
		panic(err)
	}
	return n.Entry(0)
}

// gradient makes the entry that ends in the gradient array of variable v: e itself, or the sum of e
// and the content of the array. The sum is an operator of the graph, so that it is fused and
// planned like others and is done in place.
func (u *Unit) gradient(v, e op.Entry, claimed map[op.Entry]bool) Gradient {
	arg := v.Node.Name
	if u.opt.Grads[arg] != op.ReqAdd {
		return Gradient{Arg: arg, Entry: u.own(e, claimed)}
	}
	old := op.Var(arg + "_grad_before")
	u.Facts.Set(old.Entry(0), u.Facts.Shapes[v], u.Facts.Types[v])
	n, err := op.NewNode(prim.GradAdd.Op, arg+"_grad_add", nil, old.Entry(0), e)
	if err != nil {
		panic(err)
	}
	return Gradient{Arg: arg, Entry: n.Entry(0), Old: old}
}

// addHeads makes slots for the head gradients that the graph reads. Slots lie where the outputs
// lie.
func (u *Unit) addHeads(heads []op.Entry) {
	read := map[*op.Node]bool{}
	for _, n := range op.Topo(u.all()) {
		read[n] = true
	}
	for i, h := range heads {
		if read[h.Node] {
			u.special = append(u.special, Slot{Name: h.Node.Name, Kind: SlotHead, Index: i,
				Device: u.opt.output(i),
				Desc:   op.Plain(u.Facts.Types[h], u.Facts.Shapes[h])})
		}
	}
}
