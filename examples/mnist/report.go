package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"gomx/examples/data"
	"gomx/internal/plot"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
)

// report loads the checkpoint, scores it, and draws the training curves and the confusion matrix.
func report(ctx context.Context, o options, set data.Set, mod *module.Module,
	test dataio.Iter) error {
	loaded, err := module.Load(filepath.Join(o.out, "lenet"), o.epochs, module.On(o.on...))
	if err != nil {
		return err
	}
	confusion := metric.ConfusionMatrix()
	score, err := loaded.Score(ctx, test, metric.Composite(metric.Accuracy(), confusion))
	if err != nil {
		return err
	}
	accuracy, _ := score.Get("accuracy")
	epochs := mod.History().Epochs
	if trained, _ := epochs[len(epochs)-1].Validation.Get("accuracy"); trained != accuracy {
		return fmt.Errorf("accuracy of the loaded model: found %v, want %v", accuracy, trained)
	}
	if err := draw(filepath.Join(o.out, "curves.svg"), func(f *os.File) error {
		var series []plot.Series
		for _, c := range mod.History().Curves() {
			series = append(series, plot.Series(c))
		}
		return plot.Curves(f, "LeNet on "+set.Name, series...)
	}); err != nil {
		return err
	}
	if err := draw(filepath.Join(o.out, "confusion.svg"), func(f *os.File) error {
		return plot.Confusion(f, set.Classes, confusion.Matrix())
	}); err != nil {
		return err
	}
	fmt.Printf("checkpoint, curves.svg and confusion.svg are in %s\nvalidation accuracy %.4f\n",
		o.out, accuracy)
	if accuracy < o.least {
		return fmt.Errorf("validation accuracy %.4f, want at least %v", accuracy, o.least)
	}
	return nil
}

func draw(path string, f func(*os.File) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := f(file); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
