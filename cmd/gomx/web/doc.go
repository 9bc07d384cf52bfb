// Package web is the command `gomx board`, which serves the page of package board.
package web
