// Server is the S3 server of rclone serve s3, with its objects in memory. It is a
// module of its own, so that its dependencies are not those of Kith.
//
// It creates the bucket named by its first argument, accepts the access key from the
// environment, prints its URL, and exits when its standard input ends.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"
)

func main() {
	backend := s3mem.New()
	if err := backend.CreateBucket(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
	keys := map[string]string{os.Getenv("AWS_ACCESS_KEY_ID"): os.Getenv("AWS_SECRET_ACCESS_KEY")}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		log.Fatal(http.Serve(listener, gofakes3.New(backend, gofakes3.WithV4Auth(keys)).Server())) // #nosec G114 -- only tests call it
	}()
	fmt.Printf("http://%s\n", listener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}
