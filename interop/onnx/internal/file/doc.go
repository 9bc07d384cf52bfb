// Package file decodes ONNX's messages: models, whose graphs are bounded in number and depth, and
// tensors, whose sizes are checked before memory is taken.
//
// Data of tensors may be raw, typed or in other files. Other files are read below one folder, which
// os.Root confines.
package file
