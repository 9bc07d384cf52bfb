package conformance

// distCase is training, or aggregation of gradients, on several machines.
type distCase struct{ ID string }

func distCases(g *Golden) ([]Case, error) {
	var index struct{ Cases []*distCase }
	if err := g.JSON("train/dist.json", &index); err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range index.Cases {
		list = append(list, Case{ID: "dist/" + c.ID, Run: func(Env) error { return missing("training on several machines") }})
	}
	return list, nil
}
