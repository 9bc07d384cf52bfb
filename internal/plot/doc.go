// Package plot draws SVG pictures: curves of a training run over epochs, the confusion matrix of a
// classifier, graphs of operators, and timelines.
//
// [Curves] stacks one panel per quantity (loss, accuracy, images/s) over a
// common axis, so that training and validation share a panel and a scale:
//
//	err := plot.Curves(file, "LeNet on Fashion-MNIST",
//		plot.Series{Name: "training", Quantity: "accuracy", X: epochs, Y: trainAcc},
//		plot.Series{Name: "validation", Quantity: "accuracy", X: epochs, Y: valAcc},
//		plot.Series{Name: "training", Quantity: "cross-entropy", X: epochs, Y: loss})
//
// A series has the same colour in all panels, by its name. Values that are not finite leave a gap
// in the line, so a loss of NaN is visible.
//
// [Confusion] draws one row per true class and one column per predicted class, with the recall of
// every class at the right and the precision below.
//
// A [Timeline] draws intervals of time as boxes: each row is a place where operations run, and
// colours show kinds of operations.
//
// The pictures embed no fonts and are the same for the same input.
package plot
