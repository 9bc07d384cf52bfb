// Mkimage writes a container image with programs and their shared libraries: see package
// launch/image.
//
//	go run ./internal/mkimage -o dist/gomx.oci.tar bin/gomx bin/mnist
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"gomx/launch/image"
)

func main() {
	out := flag.String("o", "gomx.oci.tar", "file of the archive")
	tag := flag.String("tag", "gomx:latest", "name and tag of the image")
	flag.Parse()
	if err := write(*out, image.Config{Programs: flag.Args(), Tag: *tag}); err != nil {
		fmt.Fprintln(os.Stderr, "mkimage:", err)
		os.Exit(1)
	}
}

// write writes the archive to a file.
func write(path string, c image.Config) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := image.Write(f, c); err != nil {
		f.Close()
		os.Remove(path)
		return err
	}
	return f.Close()
}
