// Package script is the language of tests that play scripts to the state machines of the parameter
// server: a line is a command, and the indented lines behind it are the answers that were given.
//
//	golden.Compare(t, file, script.Play(text, command), *rewrite)
//
//	0 w1 push seq=1 key=2 v=1,2       a word per field; words without = are flags
//	  to worker 1: ack ...            an answer
//
// A World is the scheduler's view of a script's job. Message makes messages of words, and Spell
// writes messages with all of their fields, so that no change of an answer goes unnoticed.
package script
