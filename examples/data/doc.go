// Package data provides data for the examples. Images are Fashion-MNIST if it is
// installed, otherwise a small set of handwritten digits that is part of the program.
//
// On Debian and its derivatives the package dataset-fashion-mnist installs 60,000 training and
// 10,000 test images of 28×28 pixels. The digits are 1,437 and 360 images of 8×8 pixels from the
// UCI repository; NOTICE names their source and licence. Clicks are sparse samples with known
// weights, in LibSVM's format; Ratings are a matrix with known factors; Words are a language whose
// words belong to known classes.
package data
