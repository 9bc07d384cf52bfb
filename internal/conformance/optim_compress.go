package conformance

import (
	"context"
	"fmt"

	"gomx/kvstore"
	"gomx/kvstore/compress"
	nd "gomx/ndarray"
)

// compressionCase is gradient compression with residuals in a store on one machine.
type compressionCase struct {
	ID, KVStore, Type, File string
	Threshold               float64
	Devices                 int
	Steps                   []struct {
		Grads  []Ref
		Pulled Ref
	}
}

func compressionCases(g *Golden) ([]Case, error) {
	cases, err := casesOf[compressionCase](g, "optim/compression.json")
	if err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range cases {
		for i, s := range c.Steps {
			if len(s.Grads) != c.Devices {
				return nil, fmt.Errorf("conformance: compression.json: %s: step %d has %d "+
					"gradients for %d devices", c.ID, i, len(s.Grads), c.Devices)
			}
		}
		c.File = "optim/" + c.File
		list = append(list, Case{ID: "compression/" + c.ID, Run: c.run})
	}
	return list, nil
}

// run pushes one gradient per device and compares the pulled values. All gradients are on the
// tested device: the messages do not depend on the place of the gradients.
func (c *compressionCase) run(env Env) error {
	m, err := compress.Parse(map[string]any{"type": c.Type, "threshold": c.Threshold})
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := kvstore.Open(ctx, c.KVStore)
	if err != nil {
		return err
	}
	defer s.Close()
	out := nd.Zeros(c.Steps[0].Pulled.Shape, nd.On(env.Device))
	if err := s.SetCompression(m); err != nil {
		return err
	}
	if err := s.Init(ctx, "w", out); err != nil {
		return err
	}
	for i, step := range c.Steps {
		arrays, err := env.Golden.Arrays(c.File, step.Grads)
		if err != nil {
			return err
		}
		var grads []*nd.Array
		for _, a := range arrays {
			x, err := a.upload(env.Device)
			if err != nil {
				return err
			}
			grads = append(grads, x)
		}
		if err := s.PushPull("w", 0, grads, []*nd.Array{out}); err != nil {
			return err
		}
		if err := compareND(env.Golden, fmt.Sprintf("pulled after push %d", i), out, c.File,
			step.Pulled); err != nil {
			return err
		}
	}
	return nil
}
