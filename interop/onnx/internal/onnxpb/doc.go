// Package onnxpb has the Go types of ONNX's messages, which protoc makes of the file onnx.proto of
// ONNX 1.17.0:
//
//	protoc --go_out=. --go_opt=paths=source_relative --go_opt=Monnx.proto=<this package> onnx.proto
//	mv onnx.pb.go onnx_gen.go
//
// protoc copies the comments of onnx.proto into the generated file.
package onnxpb
