// Search answers questions with paragraphs of the project's documentation. It embeds all paragraphs
// with a model of sentence-transformers, such as all-MiniLM-L6-v2, and serves the nearest ones by
// HTTP:
//
//	search -model FOLDER -docs docs -listen localhost:8080
//	curl 'localhost:8080/search?q=resume+a+killed+run&n=3'
//
// With -check it asks its own questions and ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"gomx/gluon/embed"
)

func main() {
	model := flag.String("model", "", "folder of a model of sentence-transformers")
	docs := flag.String("docs", "docs", "folder of pages in Markdown")
	listen := flag.String("listen", "localhost:8080", "address of the service")
	ask := flag.Bool("check", false, "ask questions whose answers are known, and end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *ask {
		err = examine(ctx, *model, *docs)
	} else {
		err = run(ctx, *model, *docs, *listen)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, model, docs, listen string) error {
	m, err := embed.Load(model)
	if err != nil {
		return err
	}
	defer m.Close()
	begin := time.Now()
	x, err := newIndex(ctx, m, docs)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Printf("%d paragraphs in %v, http://%s/search?q=\n", len(x.paragraphs),
		time.Since(begin).Round(time.Millisecond), l.Addr())
	server := &http.Server{Handler: x, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
