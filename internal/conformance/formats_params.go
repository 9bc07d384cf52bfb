package conformance

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"gomx/checkpoint"
	"gomx/dtype"
)

// paramsCase is a file of arrays.
type paramsCase struct {
	described
	File   string
	Names  []string
	Legacy string // V0 or V1, which gomx only reads
	Arrays []paramsArray
	// NPShape means that the records are V3, which MXNet writes where shapes without axes and axes
	// of size 0 have NumPy's meaning.
	NPShape bool `json:"np_shape"`
}

// paramsArray is one array of the file.
type paramsArray struct {
	Ref
	Stype                 string
	Indices, Indptr, Data *Ref
}

func (c *paramsCase) run(env Env) error {
	data, err := os.ReadFile(env.Golden.Path("formats/" + c.File))
	if err != nil {
		return err
	}
	list, named, err := checkpoint.ReadList(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	if named != (len(c.Names) > 0) || len(list) != len(c.Arrays) {
		return fmt.Errorf("%d arrays, named %t, want %d, named %t", len(list), named, len(c.Arrays),
			len(c.Names) > 0)
	}
	for i, a := range c.Arrays {
		if err := a.check(env.Golden, list[i]); err != nil {
			return fmt.Errorf("array %d %q: %w", i, a.Name, err)
		}
	}
	if err := c.checkVersions(list); err != nil || c.Legacy != "" {
		return err
	}
	var again bytes.Buffer
	if err := checkpoint.WriteList(&again, list); err != nil {
		return err
	}
	if !bytes.Equal(again.Bytes(), data) {
		return fmt.Errorf("written again as %d bytes that differ from the %d of MXNet", again.Len(),
			len(data))
	}
	return nil
}

// checkVersions compares the versions of the records with the version that the case names.
func (c *paramsCase) checkVersions(list []*checkpoint.Record) error {
	want := checkpoint.V2
	switch {
	case c.Legacy == "V0":
		want = checkpoint.V0
	case c.Legacy == "V1":
		want = checkpoint.V1
	case c.Legacy != "":
		return fmt.Errorf("unknown legacy format %q, want V0 or V1", c.Legacy)
	case c.NPShape:
		want = checkpoint.V3
	}
	for _, r := range list {
		if r.Version != want {
			return fmt.Errorf("array %q is of version %v, want %v", r.Name, r.Version, want)
		}
	}
	return nil
}

// check compares a record and its dense form with the golden arrays.
func (a *paramsArray) check(g *Golden, r *checkpoint.Record) error {
	if r.Name != a.Name || r.Stype.String() != a.Stype {
		return fmt.Errorf("%v array %q, want %s array %q", r.Stype, r.Name, a.Stype, a.Name)
	}
	dense, err := r.Dense(1 << 30)
	if err != nil {
		return err
	}
	if err := sameArray(g, "values", a.Ref, dense.DType, dense.Shape, dense.Data); err != nil {
		return err
	}
	if a.Data == nil {
		return nil
	}
	if err := sameArray(g, "stored values", *a.Data, r.DType, r.Storage, r.Data); err != nil {
		return err
	}
	index := []*Ref{a.Indices}
	if a.Indptr != nil {
		index = []*Ref{a.Indptr, a.Indices}
	}
	for i, want := range index {
		x := r.Aux[i]
		if err := sameArray(g, fmt.Sprintf("index array %d", i), *want, x.DType, x.Shape,
			x.Data); err != nil {
			return err
		}
	}
	return nil
}

// sameArray compares bytes of a file with a golden array bit by bit, except for the sign of zeros.
func sameArray(g *Golden, what string, want Ref, t dtype.Type, s dtype.Shape, data []byte) error {
	w, err := g.Array(formatsArchive, want)
	if err != nil {
		return err
	}
	got := NewArray(t, slices.Clone(s))
	if got.Shape == nil {
		got.Shape = dtype.Shape{}
	}
	copy(got.Data, data)
	return compare(what, got, w, Tolerance{})
}
