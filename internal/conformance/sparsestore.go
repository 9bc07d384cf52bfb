package conformance

import (
	"context"
	"fmt"

	"gomx/dtype"
	"gomx/kvstore"
	"gomx/op"
	"gomx/optimizer"

	nd "gomx/ndarray"
)

// sparseStoreCase is a store of one process with row_sparse values.
type sparseStoreCase struct {
	ID, KVStore, File string
	Optimizer         *string
	Kwargs            map[string]any
	Steps             []sparseStoreStep
}

type sparseStoreStep struct {
	Do, Key      string
	Value        *storedRef
	Values, Outs []storedRef
	RowIDs       [][]float64 `json:"row_ids"`
	IgnoreSparse bool        `json:"ignore_sparse"`
}

// sparseStoreCases reads sparse/kvstore.json.
func sparseStoreCases(g *Golden) ([]Case, error) {
	cases, err := casesOf[sparseStoreCase](g, "sparse/kvstore.json")
	if err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range cases {
		c.File = "sparse/" + c.File
		list = append(list, Case{ID: "kvstore/" + c.ID, Run: c.run})
	}
	return list, nil
}

func (c *sparseStoreCase) run(env Env) error {
	ctx := context.Background()
	s, err := kvstore.Open(ctx, c.KVStore)
	if err != nil {
		return err
	}
	defer s.Close()
	if c.Optimizer != nil {
		kwargs, err := optimizerKwargs(c.Kwargs)
		if err != nil {
			return err
		}
		o, err := optimizer.New(*c.Optimizer, kwargs)
		if err == nil {
			err = s.SetOptimizer(ctx, o)
		}
		if err != nil {
			return err
		}
	}
	for i, step := range c.Steps {
		if err := c.step(ctx, env, s, step); err != nil {
			return fmt.Errorf("step %d, %s of %s: %w", i, step.Do, step.Key, err)
		}
	}
	return nil
}

func (c *sparseStoreCase) step(ctx context.Context, env Env, s *kvstore.KV, step sparseStoreStep,
) error {
	switch step.Do {
	case "init":
		value, err := env.stored(c.File, *step.Value)
		if err != nil {
			return err
		}
		return s.Init(ctx, step.Key, value)
	case "push":
		grads := make([]*nd.Array, len(step.Values))
		for i, r := range step.Values {
			var err error
			if grads[i], err = env.stored(c.File, r); err != nil {
				return err
			}
		}
		return s.Push(step.Key, 0, grads...)
	}
	out := make([]*nd.Array, len(step.Outs))
	for i, r := range step.Outs {
		t, err := dtype.Parse(r.DType)
		if err != nil {
			return err
		}
		kind, err := op.ParseStorage(r.Stype)
		if err != nil {
			return err
		}
		out[i] = nd.ZerosOf(kind, r.Shape, nd.As(t))
	}
	var err error
	if step.Do == "row_sparse_pull" {
		ids := make([]*nd.Array, len(step.RowIDs))
		for i, list := range step.RowIDs {
			ids[i] = nd.FromSlice(list).AsType(dtype.Int64)
		}
		err = s.RowSparsePull(step.Key, 0, ids, out)
	} else {
		err = s.Pull(step.Key, 0, out...)
	}
	if err != nil {
		return err
	}
	for i, r := range step.Outs {
		if err := compareStored(env.Golden, fmt.Sprintf("array %d", i), out[i], c.File,
			r); err != nil {
			return err
		}
	}
	return nil
}
