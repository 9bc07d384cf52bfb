// Ocr prints the lines of text in pictures. Two models of rapidocr in ONNX's format, which
// `make onnx-models` installs, find the lines and read them:
//
//	ocr -models FOLDER page.png
//
// With -check it draws pages of words, reads them, and counts the characters that it reads wrong.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"gomx/io/image"
)

func main() {
	folder := flag.String("models", "", "folder of rapidocr's models")
	checking := flag.Bool("check", false, "draw pages, and compare the text with the words on them")
	flag.Parse()
	if err := run(context.Background(), *folder, *checking, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, folder string, checking bool, files []string) error {
	r, err := newReader(folder)
	if err != nil {
		return err
	}
	defer r.close()
	if checking {
		return r.check(ctx)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		page, err := image.Decode(data, image.RGB)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		lines, err := r.read(ctx, page)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, l := range lines {
			fmt.Printf("%s\t(%d, %d) %d×%d\t%s\n", file, l.at.X, l.at.Y, l.at.Width, l.at.Height,
				l.text)
		}
	}
	return nil
}
