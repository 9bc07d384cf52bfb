// Command modtool gives the module another path and packs releases of it.
//
//	go run ./internal/modtool rename example.org/me/gomx   # make rename MODULE=example.org/me/gomx
//	go run ./internal/modtool release v0.2.0               # make release VERSION=v0.2.0
//
// A path without a dot, as gomx has it, cannot be fetched by go get: a copy that is published is
// renamed first. rename changes go.mod, imports, build files and documentation in place.
//
// release writes dist/<path>/@v/ in the layout of GOPROXY: a module zip, its go.mod, its time and
// the list of versions. A web server or GOPROXY=file:///…/dist serves that folder.
package main
