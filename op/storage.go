package op

import "fmt"

// Storage says how the values of an operand lie in memory.
type Storage uint8

// The storage types, with MXNet's numbers.
const (
	Dense     Storage = iota // every element, row-major
	RowSparse                // some rows of the first axis, with their numbers
	CSR                      // some elements of a matrix, row by row, with their columns
)

var storageNames = [...]string{Dense: "default", RowSparse: "row_sparse", CSR: "csr"}

// String returns MXNet's name of the storage type.
func (s Storage) String() string {
	if int(s) < len(storageNames) {
		return storageNames[s]
	}
	return fmt.Sprintf("storage(%d)", uint8(s))
}

// ParseStorage reads the text that Storage.String writes.
func ParseStorage(text string) (Storage, error) {
	for s, name := range storageNames {
		if name == text {
			return Storage(s), nil
		}
	}
	return Dense, Errorf("stype", "%q, want default, row_sparse or csr", text)
}

// StoreLike is a rule of Spec.Storage for functions of one operand that keep zeros zero: the output
// has the storage type of input 0.
func StoreLike[P any](_ P, in []Storage) (out []Storage, ok bool) { return in[:1], true }

// GradLikeHead is a rule of Spec.GradStorage: the gradient of every input has the storage type of
// the gradient that flows into output 0.
func GradLikeHead[P any](_ P, in, heads []Storage) []Storage {
	out := make([]Storage, len(in))
	for i := range out {
		out[i] = heads[0]
	}
	return out
}

// GradDense is a rule of Spec.GradStorage for operators whose zero gradients are dense.
func GradDense[P any](_ P, in, _ []Storage) []Storage { return make([]Storage, len(in)) }

// AllDense reports whether no operand of the list is sparse.
func AllDense(list []Storage) bool {
	for _, s := range list {
		if s != Dense {
			return false
		}
	}
	return true
}

// OutStorage returns the storage types of the outputs for inputs of the given storage types. ok is
// false where the operator has no kernel for them: then the inputs are made dense, and so are the
// outputs.
func (o *Op) OutStorage(params any, in []Storage) (out []Storage, ok bool) {
	if o.storage != nil {
		if out, ok = o.storage(params, in); ok {
			return out, true
		}
	}
	return make([]Storage, len(o.outputs(params))), AllDense(in)
}

// SaysGradStorage reports whether the operator says which storage types its gradients have.
func (o *Op) SaysGradStorage() bool { return o.gradStorage != nil }

// GradStorage returns the storage types of the gradients of the inputs, from the storage types of
// the inputs and of the gradients that flow into the outputs.
func (o *Op) GradStorage(params any, in, heads []Storage) []Storage {
	if o.gradStorage == nil || len(in) == 0 {
		return make([]Storage, len(in))
	}
	return o.gradStorage(params, in, heads)
}
