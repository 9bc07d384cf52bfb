// Package plot draws what a training run leaves behind, as SVG: curves over
// epochs and the confusion matrix of a classifier.
//
// [Curves] stacks one panel per quantity (loss, accuracy, images/s) over a
// common axis, so that training and validation share a panel and a scale:
//
//	err := plot.Curves(file, "LeNet on Fashion-MNIST",
//		plot.Series{Name: "training", Quantity: "accuracy", X: epochs, Y: trainAcc},
//		plot.Series{Name: "validation", Quantity: "accuracy", X: epochs, Y: valAcc},
//		plot.Series{Name: "training", Quantity: "cross-entropy", X: epochs, Y: loss})
//
// A series keeps its colour in all panels by its name. Values that are not
// finite leave a gap in the line: a loss of NaN is visible as what it is.
//
// [Confusion] draws one row per true class and one column per predicted one,
// with the recall of every class at the right and its precision below.
//
// A [Timeline] draws what ran when: rows are places where something runs, boxes
// what did, coloured by kind.
//
// The pictures need no fonts of their own and are the same for the same input.
package plot
