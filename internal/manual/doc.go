// Package manual checks the manual: README.md and the pages in docs.
//
// Its tests find links to pages, headings and files that do not exist, pages that the navigation
// of mkdocs.yml lacks, names of packages of the module that do not exist, and targets of make and
// flags of examples that do not exist. A test of cmd/gomx checks the commands of gomx in the same
// pages. With -manual.blocks a test compiles every Go block of the pages and runs the pages that
// say so; with -manual.newcomer another one follows the pages in a fresh clone, as a newcomer does.
//
// # Blocks
//
// A Go block of a page is a program, a list of declarations, or a list of statements. A program
// begins with "package main" and is compiled by itself. The other blocks of a page are one package:
// declarations go to its top level, statements into one function, in which each block sees the
// variables of the blocks before it and may declare them anew. The variables ctx and err exist.
// Packages are imported by their names. Comments of the page complete it:
//
//	<!-- manual:preamble
//	import "gomx/gluon/rnn"
//	var train io.Iter
//	-->
//	<!-- manual:run -->
//
// The preamble is Go code of the top level that readers do not see. The package of a page with
// manual:run is run, and prints exactly the text of the blocks of the kind "output": each of them
// belongs to the block of code before it. In such a block a line "…" stands for any lines, or none,
// and "…" within a line for any characters. Programs are compiled; those of the first pages are run
// by -manual.newcomer, where a block of the kind "sh" is a command that a newcomer gives.
package manual
