// Package golden compares the texts that tests make with files. A package that uses it declares a
// flag -rewrite, which writes the files anew. After a change of a text, run the tests with the flag
// and read the difference before it is committed.
package golden
