// Ssd learns to find circles, squares and triangles in pictures: a single-shot detector with three
// levels of anchors, its targets, hard negatives, and the mean average precision of VOC 2007.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"

	"gomx/autograd"
	images "gomx/examples/data"
	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/loss"
	"gomx/initializer"
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

const (
	enough = 12  // passes over 2,000 pictures
	short  = 5   // passes over 800 pictures
	least  = 0.9 // mean average precision that must be reached after so many passes
)

// lossOf compares predictions with the targets of the anchors. Beside the anchors with an object
// count three times as many without one, those that look most like an object.
func lossOf(out []*nd.Array, label *nd.Array) *nd.Array {
	anchors, scores, offsets := out[0], out[1], out[2]
	t := nd.MultiBoxTarget(anchors, label, scores.Detach().Transpose(0, 2, 1),
		nd.MultiBoxTargetParams{NegativeMiningRatio: nd.Some(3.0)})
	counts := nd.GreaterEqualScalar(t[2], nd.ScalarParams{Scalar: 0})
	class := loss.SoftmaxCE{}.Forward(scores, t[2].Mul(counts), loss.Weights(counts.ExpandDims(2)))
	box := loss.Huber{}.Forward(offsets.Mul(t[1]), t[0].Mul(t[1]))
	return class.Add(box.MulScalar(4))
}

// detect returns rows (class, score, left, top, right, bottom) for each picture.
func detect(net *gluon.Net, x *nd.Array) *nd.Array {
	out := net.Call(x)
	return nd.MultiBoxDetection(out[1].Softmax().Transpose(0, 2, 1), out[2], out[0],
		nd.MultiBoxDetectionParams{NMSThreshold: nd.Some(0.45), NMSTopK: nd.Some(100)})
}

// run trains on n drawn pictures and returns the mean average precision on others.
func run(ctx context.Context, n, epochs int, out string) (float64, error) {
	s := newSSD()
	net := gluon.Wrap(s, s.Call)
	if err := net.Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
		return 0, err
	}
	net.Hybridize()
	trainer, err := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: 2e-3})
	loader := data.NewLoader(data.Arrays(images.Shapes(n, 1)), 32, data.Shuffle(7), data.Workers(2))
	for epoch := range epochs {
		if epoch == epochs*2/3 && err == nil {
			err = trainer.SetLearningRate(3e-4)
		}
		losses := metric.Loss()
		for batch, err2 := range loader.Batches(ctx) {
			if err = errors.Join(err, err2); err != nil {
				return 0, err
			}
			l := lossOf(net.Call(autograd.Train().Watch(batch.Data)), batch.Label)
			l.Backward()
			err = errors.Join(trainer.Step(batch.Size), losses.Update(nil, []*nd.Array{l.Detach()}))
		}
		_, values := losses.Value()
		fmt.Printf("epoch %d: loss %.4f\n", epoch, values[0])
	}
	pictures, labels := images.Shapes(300, 2)
	ap := metric.VOC07(metric.BoxConfig{Classes: images.ShapeNames})
	found := detect(net, pictures)
	err = errors.Join(err, ap.Update([]*nd.Array{labels}, []*nd.Array{found}))
	if out != "" && err == nil {
		err = images.DrawBoxes(out, pictures, found)
	}
	_, values := ap.Value()
	return values[len(values)-1], err
}

func main() {
	pictures, passes := 2000, enough
	epochs := flag.Int("epochs", 0, "passes over the pictures, 12 by default")
	small := flag.Bool("short", false, "train by 5 passes over 800 pictures, not 12 over 2,000")
	out := flag.String("out", "", "file for a picture with detections, none by default")
	flag.Parse()
	if *small {
		pictures, passes = 800, short
	}
	if *epochs == 0 {
		*epochs = passes
	}
	ap, err := run(context.Background(), pictures, *epochs, *out)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("mean average precision %.4f\n", ap)
	if *epochs >= passes && ap < least {
		log.Fatalf("want at least %v", least)
	}
}
