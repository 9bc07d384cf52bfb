// Package text reads files with one sample per line, such as LibSVM's and CSV.
//
// Open finds the beginnings of the lines of one or several files, or of one part of them by bytes.
// Lines.Each then reads any lines in any order on several threads, so that samples need no memory
// besides 8 bytes for each line:
//
//	lines, err := text.Open("clicks.svm", text.Options{Part: rank, Parts: workers})
//	parser := text.SVM{Width: 1_000_000}
//	err = lines.Each(rows, func(worker, i int, line []byte) error {
//		return parser.Parse(line, &parsed[worker])
//	})
//
// Errors name file, line and column. The numbers are rounded correctly; the package does not know
// arrays.
package text
