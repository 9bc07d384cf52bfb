package bench

import (
	"context"
	"fmt"

	"gomx/dtype"
	"gomx/gluon"
	"gomx/gluon/zoo"
	"gomx/initializer"
	"gomx/module"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// narrowTrain measures training in float32 and in bfloat16, the same networks as in
// peers/narrowtrain.py: ResNet v1 by package module and BERT-base by gluon, with SGD.
func narrowTrain() (list []Workload, err error) {
	for _, t := range []dtype.Type{dtype.Float32, dtype.BFloat16} {
		list = append(list,
			narrowNet("resnet18_v1", resnet(false, []int{2, 2, 2, 2}, 1000), 8, t),
			narrowNet("resnet50_v1", resnet(true, []int{3, 4, 6, 3}, 1000), 4, t),
			narrowBERT(2, 128, t))
	}
	return list, nil
}

// narrowNet measures images of 224 x 224 per second.
func narrowNet(name string, net *sym.Symbol, batch int, t dtype.Type) Workload {
	run := func(ctx context.Context) (float64, error) {
		shape := nd.Shape{batch, 3, 224, 224}
		push, err := modulePush(net, shape, shape[:1], initializer.Xavier{}, true,
			module.MixedPrecision(t))
		if err != nil {
			return 0, err
		}
		s, err := bestOf(ctx, 3, 1, push)
		return float64(batch) / s, err
	}
	return Workload{Name: fmt.Sprintf("narrow-train.%s.bs%d.%v", name, batch, t),
		Unit: "images/s", Run: run}
}

// narrowBERT measures sequences per second, of which the numbers of a word's output are the scores of
// classes.
func narrowBERT(batch, steps int, t dtype.Type) Workload {
	run := func(ctx context.Context) (float64, error) {
		bert := zoo.NewBERT(zoo.BERTConfig{NoTokenTypes: true, NoPooler: true, NoDecoder: true})
		net := gluon.Wrap(bert, func(in []*nd.Array) []*nd.Array {
			return []*nd.Array{bert.Run(zoo.BERTInput{Words: in[0]}).Steps.Reshape(-1, 768)}
		})
		step, err := netStep(net, true, nd.Shape{batch, steps}, gluon.MixedPrecision(t))
		if err != nil {
			return 0, err
		}
		s, err := bestOf(ctx, 3, 1, step)
		return float64(batch) / s, err
	}
	return Workload{Name: fmt.Sprintf("narrow-train.bert_base.%d.bs%d.%v", steps, batch, t),
		Unit: "sequences/s", Run: run}
}
