// Package data finds images for the examples: Fashion-MNIST where it is installed, and a small set
// of handwritten digits that is part of the program otherwise.
//
// On Debian and its relatives the package dataset-fashion-mnist installs 60,000 training and
// 10,000 test images of 28×28 pixels. The digits are 1,437 and 360 images of 8×8 pixels from the
// UCI repository; NOTICE says where they come from and under which licence.
package data
